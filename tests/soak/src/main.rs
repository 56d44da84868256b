//! Everything at once, for minutes or hours, on the real `plimsoll serve`: load in both node modes, reloads, hostile
//! guests, API server outages. Once a second its memory, descriptors and threads are measured.
//!
//! ```text
//!  actors ──> plimsoll serve ──> FakeApi          Gate: load, quiet, load, quiet, end
//!     │            │
//!     v            v
//!   Tally       Sampler ──> samples.csv ──> judge
//! ```
//!
//! `make soak` runs ten minutes; `make soak SOAK='--minutes 60'` an hour. It stops by itself, and fails if a correct
//! request got a wrong answer, if the process ended, or if memory, descriptors or threads grow.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]
#![expect(clippy::print_stdout, reason = "its report")]

mod actors;
mod gate;
mod judge;
mod modules;
mod sampler;
mod stage;
mod tally;

use std::{fs, process::ExitCode, thread, time::Duration};

use anyhow::{Result, ensure};
use clap::Parser;
use plimsoll_harness::workspace;

use crate::{gate::Phase, sampler::Sampler, stage::Stage};

/// The longest that the actors may take to let go of their connections; the slowest waits for a reload.
const PARKING: Duration = Duration::from_secs(40);

/// Run plimsoll under everything at once, and watch what it holds on to
#[derive(Debug, Parser)]
#[command(name = "plimsoll-soak")]
struct Args {
    /// The minutes that it runs
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    minutes: f64,

    /// Only these kinds of work, to find out which one a finding comes from: `names,changes`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// The seed of all that is random [default: the time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    ensure!((0.5..=10_080.0).contains(&args.minutes), "a soak takes half a minute to a week");
    let total = Duration::from_secs_f64(args.minutes * 60.0);
    // Load that is not judged: caches fill, and the allocator finds its size.
    let warm_up = (total / 5).max(Duration::from_mins(2)).min(total / 3);
    let quiet = (total / 20).clamp(Duration::from_secs(6), Duration::from_mins(1));
    let load = total.saturating_sub(warm_up + 2 * quiet);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seed = args.seed.unwrap_or(now.as_secs());
    println!("{warm_up:.0?} of warm-up, {load:.0?} of load, twice {quiet:.0?} quiet; seed {seed}");

    let results = workspace().join("target/soak");
    fs::create_dir_all(&results)?;
    let actors = actors::chosen(&args.only)?;
    let mut stage = Stage::set(seed, (total / 30).clamp(Duration::from_secs(12), Duration::from_secs(45)))?;
    let mut sampler = Sampler::new(&results.join("samples.csv"))?;
    thread::scope(|scope| -> Result<()> {
        for (_, actor) in &actors {
            let stage = &stage;
            scope.spawn(move || actor(stage));
        }
        let mut follow = || -> Result<()> {
            for (name, load) in [("warm-up", warm_up), ("load", load)] {
                stage.gate.set(Phase::Load);
                sampler.sample_for(name, load, &stage)?;
                stage.gate.set(Phase::Quiet);
                let parked = stage.gate.wait_until_parked(actors.len(), PARKING);
                if parked < actors.len() {
                    let stuck = actors.len() - parked;
                    stage.tally.failure("soak", &format!("{stuck} of {} actors did not stop", actors.len()));
                }
                stage.api.recover();
                // A connection pool that is as large as the last burst says nothing about leaks.
                stage.api.cut_connections();
                sampler.sample_for("quiet", quiet, &stage)?;
            }
            Ok(())
        };
        let followed = follow();
        // Also after a failure: the scope waits for the actors.
        stage.gate.set(Phase::End);
        followed
    })?;
    let exit = stage.terminate();
    let log: Vec<String> = stage.gateway.log().iter().map(ToString::to_string).collect();
    fs::write(results.join("plimsoll.log"), log.join("\n"))?;

    sampler.print();
    stage.tally.print();
    let verdicts = judge::judge(&stage, &sampler, exit);
    for verdict in &verdicts {
        println!("{} {}: {}", if verdict.holds { "ok  " } else { "FAIL" }, verdict.promise, verdict.figures);
    }
    println!("seed {seed}; samples and log are in {}", results.display());
    Ok(if verdicts.iter().all(|verdict| verdict.holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
