//! Starts the real plimsoll for a test and talks to it.
//!
//! A test gets a process of its own, on free ports, with directories of its own. Nothing sleeps: a test waits for a
//! condition, with a deadline ([`wait_until`]).
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc, reason = "a test ends there")]

mod build;
mod certificates;
mod client;
mod fake_api;
mod fake_server;
pub mod http;
mod peer;
mod ports;
mod process;
pub mod samples;
mod skip;
mod tasks;
mod wait;

pub use build::{binary, command, guest, policies, use_binary, workspace};
pub use certificates::{Authority, Pair, Purpose};
pub use client::{Client, get};
pub use fake_api::{FakeApi, Fate, write_kubeconfig};
pub use fake_server::{FakeAnswer, FakeServer};
pub use peer::Peer;
pub use ports::ReservedPort;
pub use process::{Plimsoll, Reply};
pub use skip::{report_skipped, skip};
pub use tasks::threads;
pub use wait::{wait_until, wait_until_every};

pub use tempfile::{TempDir, tempdir};
