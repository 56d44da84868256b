//! Formats durations, sizes and foreign texts for the terminal and the log.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, Write},
    time::Duration,
};

/// A text of several lines, safe for a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    plimsoll_core::escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A foreign text as one line: a line break in it must not look like one of ours.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    plimsoll_core::escaped(text, |_| false)
}

/// Appends a line. The texts of others in it stay on that line: a name with a line break must not look like two lines.
pub(crate) fn push_line(text: &mut String, line: impl Display) {
    text.push_str(&one_line(&line.to_string()));
    text.push('\n');
}

/// Writes log lines, with unprintable characters and line breaks escaped: a name could forge a line with them.
pub(crate) struct LogWriter<W>(pub(crate) W);

impl<W: Write> Write for LogWriter<W> {
    /// The format hands over whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        let shown = plimsoll_core::escaped(text, |c| c == '\t');
        self.0.write_all(format!("{shown}{end}").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Microseconds, as JSON shows them.
pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Three digits and a unit: `41.2 ms`.
pub(crate) fn duration(duration: Duration) -> String {
    match micros(duration) {
        micros if micros < 1_000.0 => format!("{micros:.1} µs"),
        micros if micros < 1_000_000.0 => format!("{:.1} ms", micros / 1e3),
        micros => format!("{:.2} s", micros / 1e6),
    }
}

/// `1 node`, `2 nodes`.
pub(crate) fn count(number: usize, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}

/// `31.4 kB`, as file managers print it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_has_nothing_that_cannot_be_seen() {
        let mut written = Vec::new();
        LogWriter(&mut written).write_all("a\u{1b}[2m\u{202e}b\u{2028}c\u{9b}d\u{7}e\nf\r\n".as_bytes()).unwrap();
        let expected = "a\\u001b[2m\\u202eb\\u2028c\\u009bd\\u0007e\\u000af\\u000d\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn each_magnitude_has_its_unit() {
        assert_eq!(duration(Duration::from_nanos(35_400)), "35.4 µs");
        assert_eq!(duration(Duration::from_micros(41_230)), "41.2 ms");
        assert_eq!(duration(Duration::from_millis(2_340)), "2.34 s");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(31_400), "31.4 kB");
        assert_eq!(size(18_000_000), "18.0 MB");
    }

    #[test]
    fn one_has_no_plural() {
        assert_eq!([0, 1, 2].map(|number| count(number, "node")), ["0 nodes", "1 node", "2 nodes"]);
    }
}
