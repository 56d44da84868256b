//! Measures plimsoll against its aims, beside the same rules in Go and a server that does nothing.
//!
//! ```text
//!  wire       plimsoll, Go and an echo, over loopback
//!  reload     a module swapped under a running plimsoll
//!  memory     of a plimsoll that watches a large cluster
//!  languages  the same policies in Go and in Rust
//!  cel        the same rules in CEL and in Rust
//!  against    another build of plimsoll, call by call
//! ```
//!
//! One run prints one table and writes `target/bench/results.json`. Peers take turns within a run, so
//! that what else the machine does meets all of them alike, and must give the same answers before they
//! are measured.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod against;
mod aims;
mod api_server;
mod cel;
mod changed;
mod cold;
mod compare;
mod echo;
mod interval;
mod languages;
mod memory;
mod modules;
mod plan;
mod reload;
mod report;
mod sample;
mod servers;
mod wire;
mod world;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;

use crate::{modules::Modules, plan::Args, report::Report};

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if args.echo {
        return echo::serve().map(|()| ExitCode::SUCCESS);
    }
    // `Cargo.toml` sets them for this program in the profile `dev` alone.
    ensure!(!cfg!(debug_assertions), "built with the profile `dev`, which is not optimised: use `make bench`");
    let plan = args.plan();
    let modules = Modules::find(args.policies.clone().unwrap_or_else(|| report::target().join("policies")))?;
    if let Some(old) = &args.against {
        return against::measure(&plan, &modules, old);
    }
    let mut report = Report::default();
    wire::measure(&plan, &modules, &mut report)?;
    if plan.wants("changed names") {
        changed::measure(&plan, &modules, &mut report)?;
    }
    if plan.wants("cold names") {
        cold::measure(&plan, &modules, &mut report)?;
    }
    if plan.wants("languages names") {
        languages::measure(&plan, &modules, &mut report)?;
    }
    if plan.wants("cel names") {
        cel::measure(&plan, &modules, &mut report)?;
    }
    if plan.wants("reload") {
        reload::measure(&plan, &modules, &mut report)?;
    }
    if plan.wants("memory") {
        memory::measure(&plan, &modules, &mut report)?;
    }
    aims::judge(&mut report);
    report.finish().map(|()| ExitCode::SUCCESS)
}
