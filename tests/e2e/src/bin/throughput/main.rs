//! Pods per second of a real kube-scheduler, by the extender that it asks.
//!
//! Contenders take turns within one run, each with a scheduler and an extender of its own, on one API
//! server: no extender, one that answers at once, one that says as much as rules do, the same rules in
//! Go, and plimsoll. One table is printed, and `target/bench/throughput.json` written.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod contender;
mod load;
mod objects;
mod report;

use anyhow::Result;
use clap::Parser;
use plimsoll_e2e::ControlPlane;
use plimsoll_harness::{binary, policies, tempdir};

use crate::{contender::Contender, load::Load, report::Report};

/// Measures pods per second of a real kube-scheduler.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-throughput")]
struct Args {
    /// Sizes of the cluster, ascending
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 5_000])]
    nodes: Vec<usize>,

    /// Pods of each run, after those that warm up
    #[arg(long, default_value_t = 800)]
    pods: usize,

    /// The number of turns that each contender has; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    // Nothing is built while it is measured.
    let _built = (binary(), policies());
    let directory = tempdir()?;
    let control_plane = ControlPlane::start_with_default_features()?;
    let load = Load::new(&control_plane).await?;
    let mut report = Report::default();
    let mut present = 0;
    for nodes in &args.nodes {
        load.create_nodes(present..*nodes).await?;
        present = present.max(*nodes);
        let snapshot = directory.path().join(format!("{nodes}.json"));
        control_plane.write_snapshot(&snapshot)?;
        for round in 0..args.rounds {
            for contender in Contender::in_round(round) {
                let extender = contender.start(&control_plane, &snapshot)?;
                let scheduler = control_plane.start_scheduler(&extender.scheduler_config)?;
                let outcome = load.run(&scheduler, &extender, args.pods, contender.has_rules()).await?;
                report.add(*nodes, contender, outcome)?;
            }
        }
    }
    report.finish()
}
