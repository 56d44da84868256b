//! `make fuzz`: generated, mutated and broken modules against everything that reads modules.
//!
//! Each is made a component and compiled in a worker process, by exactly the code that a compile process runs. An accepted module
//! goes through a real compile process too, which must say the same, and is called. A panic, the end of a worker, a
//! difference or a fault of the host is a failure: the module is kept, with its seed, and the exit code is 1.

mod args;
mod gateway;
mod generated;
mod output;
mod worker;
mod workers;

use std::{fs, process::ExitCode, time::Instant};

use anyhow::Result;
use clap::Parser;
use plimsoll_harness::workspace;

use crate::{args::Args, output::say};

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let folder = workspace().join("target/fuzz");
    fs::create_dir_all(&folder)?;
    let (seed, until) = (args.first_seed(), Instant::now() + args.minutes);
    if args.worker {
        worker::work(seed, until, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("seed {seed} (--seed), {} minutes (--minutes)", args.minutes.as_secs_f64() / 60.0))?;
    gateway::program()?;
    generated::lay_seeds(&folder.join("seeds"))?;
    let counts = workers::supervise(seed, until, &folder)?;
    for (name, count) in &counts {
        say(&format!("{count:>10}  {name}"))?;
    }
    let failures = counts.get("failures").copied().unwrap_or_default();
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
