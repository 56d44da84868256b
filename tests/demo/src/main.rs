//! `make demo`: the main job on a sample cluster, over real HTTP, with nothing else installed.
//!
//! It starts the `plimsoll` that was built beside it, and plays kube-scheduler.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the demo talks to a person")]

mod load;
mod scheduler;
mod stage;
mod story;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::Parser;
use plimsoll_harness::Plimsoll;

use crate::{stage::Stage, story::Story};

/// Show plimsoll at work on a sample cluster: real calls, an edited rule, a crash
#[derive(Debug, Parser)]
#[command(name = "plimsoll-demo")]
struct Args {
    /// Where the demo writes its policies and its cluster
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    directory: PathBuf,

    /// The number of pods to schedule
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(9..=10_000))]
    pods: u32,
}

fn main() -> ExitCode {
    match tell(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("plimsoll-demo: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn tell(args: &Args) -> Result<()> {
    let stage = Stage::lay(&args.directory)?;
    let gateway = Plimsoll::serve(&stage.policies, &stage.flags()?)?;
    println!("plimsoll answers at http://{} on a sample cluster of 200 nodes and 1,000 pods.", gateway.wire);
    let mut story = Story::new(&gateway, &stage);
    let third = args.pods as usize / 3;
    story.place(third, "1. A stream of pods, as a scheduler would send them")?;
    story.edit()?;
    story.place(third, "   The same stream under the new rule")?;
    story.crash()?;
    story.place(args.pods as usize - 2 * third, "   The policy crashes for every train pod; the others decide")?;
    story.show_faults()?;
    story.preempt()?;
    story.end()?;
    println!("{}", stage.next_commands());
    Ok(())
}
