//! Write a plimsoll policy in Rust.
