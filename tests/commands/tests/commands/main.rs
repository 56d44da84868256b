//! Each command as a user types it.
#![allow(clippy::unwrap_used, reason = "a failed command fails its test")]

mod binds;
mod cel;
mod check;
mod conformance;
mod explain;
mod facts;
mod fetched_facts;
mod guest_lines;
mod help;
mod hostile_files;
mod json;
mod messages;
mod mistakes;
mod new;
#[cfg(feature = "nightly")]
mod new_rebuild;
mod open;
#[cfg(feature = "nightly")]
mod page;
#[cfg(feature = "nightly")]
mod pages;
mod pending;
mod progress;
mod record;
mod run;
mod scheduler_config;
mod serve;
mod stdio;
mod test;
mod test_finding;
mod test_pitfalls;
mod tls;
mod tools;
mod wake;

use std::path::Path;

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::workspace;

pub(crate) const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"api-0","namespace":"team-a","uid":"u","labels":{"app":"api"}},
    "spec":{"containers":[{"name":"main","image":"registry.example.com/api:1.0","resources":{"requests":{"cpu":"500m"}}}]}}"#;

pub(crate) fn run(args: &[&str]) -> Printed {
    plimsoll(workspace(), args).unwrap()
}

/// As [`run`], with the arguments in one line.
pub(crate) fn run_line(line: &str) -> Printed {
    run(&line.split_whitespace().collect::<Vec<_>>())
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The module of a guest that does harm if it can.
pub(crate) fn hostile(name: &str) -> &'static [u8] {
    &plimsoll_guests::hostile().iter().find(|guest| guest.name == name).unwrap().bytes
}
