//! Measures plimsoll against its aims: `plimsoll-bench [POLICIES_DIR]`.
//!
//! ```text
//!  engine   policy, asked in this process             body     40 MB of nodes, in this process
//!  names    plimsoll and an echo, over loopback       reload   a module swapped under a running plimsoll
//! ```
//!
//! One run prints one table and writes `target/bench/results.json`. Peers take turns within a run, so
//! that what else the machine does meets all of them alike.

mod body;
mod client;
mod echo;
mod engine;
mod names;
mod peer;
mod policies;
mod reload;
mod report;
mod sample;
mod world;

use std::path::PathBuf;

use anyhow::Result;

use crate::{policies::Modules, report::Report};

fn main() -> Result<()> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some(echo::ARGUMENT) {
        return echo::serve();
    }
    let modules = Modules::find(&argument.map_or_else(|| report::target().join("policies"), PathBuf::from))?;
    let mut report = Report::default();
    engine::measure(&modules, &mut report)?;
    body::measure(&mut report)?;
    names::measure(&modules, &mut report)?;
    reload::measure(&modules, &mut report)?;
    report.finish()
}
