//! `make demo`: the main job on a sample cluster, over real HTTP, with nothing else installed.
//!
//! It starts the `plimsoll` that was built beside it, and plays kube-scheduler.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod args;
mod load;
mod output;
mod scheduler;
mod stage;
mod story;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use plimsoll_harness::Plimsoll;

use crate::{
    args::Args,
    output::{complain, say},
    stage::Stage,
    story::Story,
};

fn main() -> ExitCode {
    match tell(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

fn tell(args: &Args) -> Result<()> {
    let stage = Stage::lay(args)?;
    let gateway = Plimsoll::serve(&stage.policies, &stage.flags()?)?;
    say(&format!("plimsoll answers at http://{} on a sample cluster of 200 nodes and 1,000 pods.", gateway.wire));
    let mut story = Story::new(&gateway, &stage);
    let third = args.pods as usize / 3;
    story.place(third, "1. A stream of pods, as a scheduler would send them")?;
    story.swap()?;
    story.place(third, "   The same stream under the new version")?;
    story.crash()?;
    story.place(args.pods as usize - 2 * third, "   The policy crashes for every train pod; the others decide")?;
    story.show_faults()?;
    story.preempt()?;
    story.end()?;
    say(&stage.next_commands(args));
    Ok(())
}
