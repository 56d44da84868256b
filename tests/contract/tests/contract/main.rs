//! The wire as kube-scheduler speaks it, and as a hostile client does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by a panic")]

mod access;
mod admin;
mod bind;
mod cel;
mod circuits;
mod connections;
mod filters;
mod goldens;
mod hostile;
mod limits;
mod oracle;
mod probes;
mod recordings;
mod reserved;
mod retries;
mod service;
mod statuses;
mod tls;
mod world;
