//! A line on the terminal that counts the seconds while large modules are compiled. It is gone when they are done.
//! Where there is no terminal, one line says so of each compile that takes long.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_wasm::CompileReport;

use crate::{output, text};

/// The time from one refresh of the line to the next.
const REFRESH: Duration = Duration::from_secs(1);

/// A compile that takes less than this is not announced where there is no terminal.
const SHORT: Duration = Duration::from_secs(2);

/// Characters of a name, so that the line fits a terminal of 80 columns: a wrapped line cannot be erased.
const MAX_NAME: usize = 20;

/// To the beginning of the line, and erases it.
const ERASE: &str = "\r\x1b[K";

static LINE: Mutex<Line> = Mutex::new(Line { compiles: Vec::new(), is_refreshed: false });

/// The compiles that the line is about.
struct Line {
    /// The oldest first.
    compiles: Vec<Compile>,
    /// Whether there is a thread that refreshes it.
    is_refreshed: bool,
}

struct Compile {
    name: String,
    bytes: u64,
    begun: Instant,
}

/// Whether standard error is a terminal that can erase a line.
pub(crate) fn is_possible() -> bool {
    io::stderr().is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// Shows a report.
pub(crate) fn show(report: CompileReport<'_>) {
    let mut line = LINE.lock();
    match report.took {
        None => line.begin(report, Instant::now()),
        Some(_) => line.end(report),
    }
    draw(&line);
    if !line.is_refreshed && !line.compiles.is_empty() {
        // Without a thread the line stays as it is.
        line.is_refreshed = thread::Builder::new().name("progress".into()).spawn(refresh).is_ok();
    }
}

/// Announces a compile that takes long, where there is no terminal.
pub(crate) fn announce(report: CompileReport<'_>) {
    let mut line = LINE.lock();
    if report.took.is_some() {
        line.end(report);
        return;
    }
    let begun = Instant::now();
    line.begin(report, begun);
    // Without a thread it is not announced.
    let _ = thread::Builder::new().name("progress".into()).spawn(move || announce_if_long(begun));
}

#[expect(clippy::disallowed_methods, reason = "the compile goes on meanwhile")]
fn announce_if_long(begun: Instant) {
    thread::sleep(SHORT);
    let announcement = LINE.lock().announcement(begun);
    if let Some(text) = announcement {
        output::remark(&text);
    }
}

#[expect(clippy::disallowed_methods, reason = "the line counts seconds, so time itself is waited for")]
fn refresh() {
    loop {
        thread::sleep(REFRESH);
        let mut line = LINE.lock();
        if line.compiles.is_empty() {
            line.is_refreshed = false;
            return;
        }
        draw(&line);
    }
}

fn draw(line: &Line) {
    // A terminal that is gone is no reason to stop.
    let _ = write!(io::stderr(), "{ERASE}{}", line.text(Instant::now()));
}

// === impl Line ===

impl Line {
    fn begin(&mut self, report: CompileReport<'_>, now: Instant) {
        self.compiles.push(Compile { name: report.name.to_owned(), bytes: report.bytes, begun: now });
    }

    fn end(&mut self, report: CompileReport<'_>) {
        let is_it = |compile: &Compile| (&*compile.name, compile.bytes) == (report.name, report.bytes);
        if let Some(at) = self.compiles.iter().position(is_it) {
            self.compiles.remove(at);
        }
    }

    /// The text about the compile that began at this time; none if it is done.
    fn announcement(&self, begun: Instant) -> Option<String> {
        let Compile { name, bytes, .. } = self.compiles.iter().find(|compile| compile.begun == begun)?;
        Some(format!("compiling {name} ({}), once for each version ...", text::size(*bytes)))
    }

    /// The line, which is empty when nothing is compiled.
    fn text(&self, now: Instant) -> String {
        let Some((oldest, others)) = self.compiles.split_first() else { return String::new() };
        let (name, size) = (shortened(&text::one_line(&oldest.name)), text::size(oldest.bytes));
        let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let seconds = now.saturating_duration_since(oldest.begun).as_secs();
        format!("compiling {name} ({size}){others}, once for each version: {seconds} s")
    }
}

/// The end of a name, which tells more than its beginning.
fn shortened(name: &str) -> String {
    let skipped = name.chars().count().saturating_sub(MAX_NAME);
    let end = name.chars().skip(skipped);
    if skipped == 0 { end.collect() } else { ['…'].into_iter().chain(end.skip(1)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, took: Option<Duration>) -> CompileReport<'_> {
        CompileReport { name, bytes: 18_300_000, took }
    }

    #[test]
    fn the_line_counts_the_seconds_of_the_oldest_compile_and_is_empty_at_the_end() {
        let mut line = Line { compiles: vec![], is_refreshed: false };
        let begun = Instant::now();
        let later = begun + Duration::from_millis(12_900);
        line.begin(report("a.wasm", None), begun);
        line.begin(report("b.wasm", None), later);
        assert_eq!(line.text(later), "compiling a.wasm (18.3 MB) and 1 more, once for each version: 12 s");
        line.end(report("a.wasm", Some(REFRESH)));
        assert_eq!(line.text(later), "compiling b.wasm (18.3 MB), once for each version: 0 s");
        line.end(report("b.wasm", Some(REFRESH)));
        assert_eq!(line.text(later), "");
    }

    #[test]
    fn a_compile_is_announced_with_its_whole_name_unless_it_is_done() {
        let mut line = Line { compiles: vec![], is_refreshed: false };
        let (begun, name) = (Instant::now(), "/a/long/way/to/the/policies/needs-label.wasm");
        line.begin(report(name, None), begun);
        let expected = format!("compiling {name} (18.3 MB), once for each version ...");
        assert_eq!(line.announcement(begun), Some(expected));
        line.end(report(name, Some(REFRESH)));
        assert_eq!(line.announcement(begun), None);
    }

    #[test]
    fn the_line_fits_a_terminal_whatever_the_name() {
        let mut line = Line { compiles: vec![], is_refreshed: false };
        let name = "/a/long/way/\u{1b}[2J/to/the/policies/needs-label.wasm";
        for _ in 0..9 {
            line.begin(report(name, None), Instant::now());
        }
        let text = line.text(Instant::now() + Duration::from_secs(59));
        assert!(text.starts_with("compiling …es/needs-label.wasm ("), "{text}");
        assert!(text.chars().count() <= 80, "{text}");
    }
}
