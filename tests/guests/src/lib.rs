//! Guests, good and hostile, that the tests of the policy host run.
//!
//! Each is one file below `guests/`. [`for_each_hostile!`] is the table of the hostile ones: a test is made
//! of every line, here against the host alone, elsewhere over HTTP.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

pub mod bombs;
mod hostile;
pub mod toolchains;
pub mod world;

pub use hostile::{Expected, Guest, hostile};

/// The guest that filters by the label `zone`; it only likes `a`.
pub fn zone() -> Vec<u8> {
    compile("zone", include_str!("../guests/good/zone.wat"))
}

/// The component that asks WASI 0.2 for the time, random bytes and its environment.
pub fn wasi() -> Vec<u8> {
    compile("wasi", include_str!("../guests/good/wasi.wat"))
}

/// A module from its text.
pub fn compile(name: &str, wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap_or_else(|error| panic!("guest {name}: {error}"))
}
