//! `make fuzz`: generated, mutated and broken modules against everything that reads modules.
//!
//! Each is made a component and compiled in a worker process, by exactly the code that a compile process runs. An accepted module
//! goes through a real compile process too, which must say the same, and is called. A panic, the end of a worker, a
//! difference or a fault of the host is a failure: the module is kept, with its seed, and the exit code is 1.

mod generated;
mod worker;
mod workers;

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::BuildHasher,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use clap::Parser;
use plimsoll_harness::{binary, workspace};

use crate::worker::say;

/// Feed generated, mutated and broken modules to all code that reads modules
#[derive(Debug, Parser)]
#[command(name = "plimsoll-fuzz")]
struct Args {
    /// The minutes that it runs, at most a week
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    minutes: f64,

    /// The seed of the first module; each further module has the next one [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Be one of the processes that try modules
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    ensure!(args.minutes > 0.0 && args.minutes <= 10_080.0, "--minutes takes a number above 0, at most a week");
    let folder = workspace().join("target/fuzz");
    fs::create_dir_all(&folder)?;
    let seed = args.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16);
    let until = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    if args.worker {
        worker::work(seed, until, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("seed {seed} (--seed), {} minutes (--minutes)", args.minutes))?;
    binary();
    generated::lay_seeds(&folder.join("seeds"))?;
    let counts = workers::supervise(seed, until, &folder)?;
    for (name, count) in &counts {
        say(&format!("{count:>10}  {name}"))?;
    }
    let failures = counts.get("failures").copied().unwrap_or_default();
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
