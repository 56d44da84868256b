//! Forwards a guest's log lines to the operator's log, bounded and sanitized.

use std::sync::Arc;

use plimsoll_core::{Ask, Origin, PodId, RequestId, Verb, View, bounded, one_line};
use tracing::{debug, error, info, warn};
use wasmtime::component::{ComponentType, Lift};

/// Maximum log lines of one call.
pub(crate) const MAX_LINES: u32 = 64;

/// Maximum bytes of one log line; the rest is cut.
pub(crate) const MAX_LINE_BYTES: usize = 1024;

/// Maximum bytes of one write to standard output or error; the rest is cut.
pub(crate) const MAX_WRITE_BYTES: usize = 16 << 10;

/// Bytes of standard error that are kept to explain a trap.
const LAST_WORDS_BYTES: usize = 256;

/// `host.level`
#[expect(dead_code, reason = "only the derived `Lift` makes some of them")]
#[derive(ComponentType, Lift, Debug, Clone, Copy, PartialEq, Eq)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum LogLevel {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

/// The log of one call.
#[derive(Debug)]
pub(crate) struct GuestLog {
    about: LogContext,
    lines: u32,
    /// Standard output and standard error, up to the next line break.
    partial: [Vec<u8>; 2],
    /// The first lines on standard error.
    last_words: String,
}

/// The fields of each line. They are formatted only when a line is written.
#[derive(Debug)]
struct LogContext {
    policy: Arc<str>,
    origin: Origin,
    view: Arc<View>,
    /// The node or candidate that the guest is asked about.
    node: Option<u32>,
}

// === impl GuestLog ===

impl GuestLog {
    /// Creates the log of a call.
    pub(crate) fn of(ask: &Ask) -> Self {
        let (policy, origin, view) = (Arc::clone(&ask.policy), ask.origin.clone(), Arc::clone(&ask.view));
        let about = LogContext { policy, origin, view, node: None };
        Self { about, lines: 0, partial: [Vec::new(), Vec::new()], last_words: String::new() }
    }

    /// Writes one line of the guest.
    pub(crate) fn line(&mut self, level: LogLevel, text: &str) {
        self.lines = self.lines.saturating_add(1);
        if self.lines <= MAX_LINES {
            self.about.emit(level, &one_line(bounded(text, MAX_LINE_BYTES)));
        } else if self.lines == MAX_LINES + 1 {
            self.about.emit(LogLevel::Warn, "log cut: a call may write 64 lines");
        }
    }

    /// Bytes on standard output (1) or standard error (2), in pieces as the runtime writes them.
    pub(crate) fn write(&mut self, fd: u32, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.lines > MAX_LINES {
                return;
            }
            let partial = &mut self.partial[usize::from(fd == 2)];
            let room = MAX_LINE_BYTES - partial.len().min(MAX_LINE_BYTES);
            partial.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.flush_fd(fd);
            }
        }
    }

    /// Writes the last incomplete line.
    pub(crate) fn flush(&mut self) {
        self.flush_fd(1);
        self.flush_fd(2);
    }

    /// Sets the node that is asked about next, and forgets earlier standard error output.
    pub(crate) fn about(&mut self, node: u32) {
        self.about.node = Some(node);
        self.last_words.clear();
    }

    /// The first lines that the guest's runtime wrote to standard error.
    pub(crate) fn last_words(&self) -> &str {
        &self.last_words
    }

    fn flush_fd(&mut self, fd: u32) {
        let bytes = std::mem::take(&mut self.partial[usize::from(fd == 2)]);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if fd == 2 && self.last_words.len() < LAST_WORDS_BYTES {
            let separator = if self.last_words.is_empty() { "" } else { " | " };
            self.last_words.push_str(separator);
            self.last_words.push_str(bounded(&one_line(text), LAST_WORDS_BYTES));
        }
        self.line(if fd == 2 { LogLevel::Warn } else { LogLevel::Info }, text);
    }
}

/// Logs one line; tracing needs the level as a constant.
macro_rules! log_line {
    ($level:ident, $about:expr, $line:expr) => {{
        let LogContext { policy, origin, view, node } = $about;
        let node = node.and_then(|node| view.node_name(node));
        let pod = PodId::of(view.pod());
        $level!(
            target: "plimsoll::guest",
            policy = policy.as_ref(),
            version = (origin.version > 0).then_some(origin.version),
            mode = (origin.version > 0).then(|| origin.mode.as_str()),
            verb = origin.verb.map(Verb::as_str),
            node = node.map(AsRef::as_ref),
            pod = pod.map(tracing::field::display),
            uid = pod.map(PodId::uid),
            request = Some(&origin.request).filter(|id| **id != RequestId::None).map(tracing::field::display),
            "{}", $line
        )
    }};
}

// === impl LogContext ===

impl LogContext {
    fn emit(&self, level: LogLevel, line: &str) {
        match level {
            LogLevel::Debug => log_line!(debug, self, line),
            LogLevel::Info => log_line!(info, self, line),
            LogLevel::Warn => log_line!(warn, self, line),
            LogLevel::Error => log_line!(error, self, line),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use plimsoll_core::Limits;

    use super::*;

    fn ask() -> Ask {
        let limits = Limits::until(Instant::now(), 0);
        Ask::new(Arc::from("p"), Arc::new(View::empty(Arc::from("null"))), limits)
    }

    #[test]
    fn what_a_runtime_writes_in_pieces_is_put_together() {
        let mut log = GuestLog::of(&ask());
        for piece in ["panic: ", "no ", "map\n\ngorou", "tine 1\n"] {
            log.write(2, piece.as_bytes());
        }
        assert_eq!(log.last_words(), "panic: no map | goroutine 1");
        assert_eq!(log.lines, 2);
    }

    #[test]
    fn a_flood_is_not_kept() {
        let mut log = GuestLog::of(&ask());
        for _ in 0..10_000 {
            log.write(1, &[b'x'; 4096]);
            log.write(2, b"y\n");
        }
        assert!(log.partial.iter().all(|partial| partial.len() <= MAX_LINE_BYTES));
        assert!(log.last_words.len() < 2 * LAST_WORDS_BYTES);
        assert_eq!(log.lines, MAX_LINES + 1);
    }
}
