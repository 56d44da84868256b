//! Policies are swapped while requests run: none fails, none waits, each belongs to one version.
//!
//! ```text
//!  Desk: puts good and bad files into the directory ──> plimsoll serve <── Load: clients that never stop
//! ```
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

mod desk;
mod guest;
mod load;

pub use desk::{Desk, Way};
pub use guest::{doing, failing, version, with_functions};
pub use load::{Answers, Load, NODES, request};
