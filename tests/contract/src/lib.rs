//! Holds the wire to what kube-scheduler sends and reads.
//!
//! ```text
//!  recordings ──> client ──TCP──> server (plimsoll-http) ──> Gateway ──> rules (fakes in Rust)
//!       └───────> check <── reply
//! ```
//!
//! A real server answers over a real connection; only the policies are fakes, so that these tests
//! speak of the wire alone.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

pub mod binder;
pub mod check;
pub mod client;
pub mod recording;
pub mod rules;
pub mod secure;
pub mod server;
