//! The output of the demo.

/// Writes a line of the story.
#[expect(clippy::print_stdout, reason = "the demo talks to a person")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
