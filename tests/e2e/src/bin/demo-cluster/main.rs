//! `make demo-cluster`: the story of `make demo`, told by a real kube-scheduler and a real API server.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod figures;
mod output;
mod stage;
mod story;

use std::{process::ExitCode, time::Instant};

use anyhow::Result;

use output::say;
use stage::Stage;
use story::Story;

fn main() -> ExitCode {
    let keep = std::env::args().any(|arg| arg == "--keep");
    match tell(keep) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("demo-cluster: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn tell(keep: bool) -> Result<()> {
    let started = Instant::now();
    say("etcd, kube-apiserver and kube-scheduler start, and 200 nodes and 1,000 pods are created.");
    let stage = Stage::lay()?;
    say(&format!(
        "Ready after {:.1} s: plimsoll answers kube-scheduler at {}.",
        started.elapsed().as_secs_f64(),
        stage.gateway.wire
    ));
    let mut story = Story::new(&stage);
    story.place(8, "1. A stream of pods, created through the API and placed by kube-scheduler")?;
    story.swap()?;
    story.place(8, "   The same stream under the new version")?;
    story.waiting_pod_lands()?;
    story.crash()?;
    story.place(8, "   The policy crashes for every train pod; the others decide")?;
    story.show_faults()?;
    story.preempt()?;
    story.end()?;
    say(&format!("\nIt took {:.0} s in all.", started.elapsed().as_secs_f64()));
    if keep {
        say(&format!("\nAll of it runs until you press Enter: KUBECONFIG={}", stage.cluster.kubeconfig().display()));
        std::io::stdin().read_line(&mut String::new())?;
    }
    Ok(())
}
