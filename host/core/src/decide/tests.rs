//! Laws and rules of decisions, with policies in plain Rust.
