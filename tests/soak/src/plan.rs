//! The command line: durations, seed and paths.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, ensure};
use clap::{Parser, ValueEnum};
use plimsoll_harness::workspace;

/// Run plimsoll under everything at once, and watch what it holds on to
#[derive(Debug, Parser)]
#[command(name = "plimsoll-soak")]
pub(crate) struct Args {
    /// The minutes that it runs
    #[arg(long, value_name = "N", default_value_t = 10.0, conflicts_with = "hours")]
    minutes: f64,

    /// The hours that it runs
    #[arg(long, value_name = "N")]
    hours: Option<f64>,

    /// The minutes of that whose load is not judged [default: a fifth, at least 2]
    #[arg(long, value_name = "N")]
    warm_up: Option<f64>,

    /// Only these kinds of work, to find out which one a finding comes from: `names,changes`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// The plimsoll to run [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    /// The sample policies [default: `target/policies`]
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,

    /// Where `samples.csv`, `report.json` and the log are written [default: `target/soak`]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// The seed of all that is random [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Durations and paths of a run.
pub(crate) struct Plan {
    /// Load that is not judged: caches fill, and the allocator finds its size.
    pub(crate) warm_up: Duration,
    /// Without load, after the warm-up and at the end.
    pub(crate) quiet: Duration,
    /// Load that is judged.
    pub(crate) load: Duration,
    /// Between two outages of the API server.
    pub(crate) outages: Duration,
    /// The names of the actors to start; all if there is none.
    pub(crate) only: Vec<String>,
    pub(crate) binary: PathBuf,
    pub(crate) policies: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) seed: u64,
    pub(crate) output: Output,
}

// === impl Args ===

impl Args {
    /// The load that is not judged: a fifth of `total`, at least two minutes, but never more than a third.
    ///
    /// # Errors
    /// If `--warm-up` leaves less than a third for the load that is judged.
    fn warm_up(&self, total: Duration) -> Result<Duration> {
        let Some(minutes) = self.warm_up else {
            return Ok((total / 5).max(Duration::from_mins(2)).min(total / 3));
        };
        let most = total.as_secs_f64() / 60.0 * 2.0 / 3.0;
        ensure!((0.0..=most).contains(&minutes), "--warm-up takes 0 to {most:.1} minutes of this soak, not {minutes}");
        Ok(Duration::from_secs_f64(minutes * 60.0))
    }
}

// === impl Plan ===

impl Plan {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let minutes = args.hours.map_or(args.minutes, |hours| hours * 60.0);
        ensure!((0.5..=10_080.0).contains(&minutes), "a soak takes half a minute to a week, not {minutes} minutes");
        let total = Duration::from_secs_f64(minutes * 60.0);
        let warm_up = args.warm_up(total)?;
        let quiet = (total / 20).clamp(Duration::from_secs(6), Duration::from_mins(1));
        let load = total.saturating_sub(warm_up + 2 * quiet);
        let beside = std::env::current_exe()?.with_file_name("plimsoll");
        let binary = args.binary.clone().unwrap_or(beside);
        ensure!(binary.exists(), "{} is missing: `make soak` builds it", binary.display());
        let policies = args.policies.clone().unwrap_or_else(|| workspace().join("target/policies"));
        ensure!(policies.is_dir(), "{} is missing: run `make policies`", policies.display());
        let only = args.only.clone();
        let directory = args.directory.clone().unwrap_or_else(|| workspace().join("target/soak"));
        std::fs::create_dir_all(&directory)?;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let seed = args.seed.unwrap_or(now.as_secs());
        let outages = (total / 30).clamp(Duration::from_secs(12), Duration::from_secs(45));
        Ok(Self { warm_up, quiet, load, outages, only, binary, policies, directory, seed, output: args.output })
    }

    /// Says what is about to happen.
    pub(crate) fn announce(&self) {
        let Self { warm_up, quiet, load, seed, .. } = self;
        let binary = self.binary.display();
        eprintln!("soak: {binary}: {warm_up:.0?} of warm-up, {load:.0?} of load, twice {quiet:.0?} quiet; seed {seed}");
    }
}
