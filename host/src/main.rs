//! plimsoll.
fn main() {}
