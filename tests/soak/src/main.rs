//! Everything at once, for minutes or hours, on the real `plimsoll serve`: load in both node modes, reloads, hostile
//! guests, API server outages. Once a second its memory, descriptors and threads are measured.
//!
//! ```text
//!  actors ──> plimsoll serve ──> FakeApi          Gate: load, quiet, load, quiet, end
//!     │            │
//!     v            v
//!   Tally       Sampler ──> samples.csv ──> judge ──> report
//! ```
//!
//! `make soak` runs ten minutes; `make soak SOAK='--hours 1'` an hour. It stops by itself, and fails if a correct
//! request got a wrong answer, if the process ended, or if memory, descriptors or threads grow.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod actors;
mod deep_guest;
mod gate;
mod gateway;
mod image;
mod judge;
mod plan;
mod process;
mod report;
mod sampler;
mod stage;
mod tally;
mod trend;
mod wide_guest;

use std::{process::ExitCode, thread, time::Duration};

use anyhow::Result;
use clap::Parser;

use crate::{
    gate::Phase,
    plan::{Args, Plan},
    report::Report,
    sampler::Sampler,
    stage::Stage,
};

/// The longest that the actors may take to let go of their connections; the slowest waits for a reload.
const PARKING: Duration = Duration::from_secs(40);

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let plan = Plan::new(&args)?;
    plan.announce();
    let actors = actors::chosen(&plan.only)?;
    let mut stage = Stage::set(&plan)?;
    let mut sampler = Sampler::new(&plan, &stage)?;
    thread::scope(|scope| -> Result<()> {
        actors::start(scope, &actors, &stage);
        let measured = follow(&plan, actors.len(), &stage, &mut sampler);
        // Also after a failure: the scope waits for the actors.
        stage.gate.set(Phase::End);
        measured
    })?;
    let exit = stage.gateway.terminate();
    let report = Report::new(&plan, &stage, &sampler, exit);
    report.write(&plan)?;
    Ok(if report.has_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Goes through the phases: warm-up and load, each followed by a quiet time.
fn follow(plan: &Plan, actors: usize, stage: &Stage, sampler: &mut Sampler) -> Result<()> {
    for (name, load) in [("warm-up", plan.warm_up), ("load", plan.load)] {
        stage.gate.set(Phase::Load);
        sampler.sample_for(name, load, stage)?;
        stage.gate.set(Phase::Quiet);
        let parked = stage.gate.wait_until_parked(actors, PARKING);
        if parked < actors {
            stage.tally.failure("soak", format!("{} of {actors} actors did not stop", actors - parked));
        }
        stage.api.recover();
        // A connection pool that is as large as the last burst says nothing about leaks.
        stage.api.cut_connections();
        sampler.sample_for("quiet", plan.quiet, stage)?;
        if !stage.gateway.is_alive() {
            break;
        }
    }
    Ok(())
}
