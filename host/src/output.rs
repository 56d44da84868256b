//! The output of commands: results to standard output, errors and remarks to standard error.

use anyhow::Result;
use serde::Serialize;

use crate::text;

/// Prints an error with all its causes on one line.
#[expect(clippy::print_stderr, reason = "this is the one place where a command complains")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("plimsoll: {}", text::one_line(&format!("{error:#}")));
}

/// Prints a remark to standard error.
#[expect(clippy::print_stderr, reason = "as for `complain`")]
pub(crate) fn remark(text: &str) {
    eprintln!("plimsoll: {}", text::one_line(text));
}

/// Prints a line of output, and ends quietly when nobody reads it (`plimsoll ... | head`).
///
/// Names, labels and reasons are foreign texts: only their printable characters reach the terminal. Lines
/// are made by [`text::push_line`], so that no such text makes two of one.
pub(crate) fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match std::io::stdout().write_all(text::printable(text).as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        result => Ok(result?),
    }
}

/// Prints a report for programs.
pub(crate) fn print_json(report: &impl Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(report)?))
}
