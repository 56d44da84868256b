//! The output of the demo.

/// Writes a line of the story.
#[expect(clippy::print_stdout, reason = "the demo talks to a person")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Writes why the story ended early.
#[expect(clippy::print_stderr, reason = "what went wrong is no part of the story")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("plimsoll-demo: {error:#}");
}
