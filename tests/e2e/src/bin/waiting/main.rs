//! What pods wait for on a real control plane, and how often kube-scheduler tries them meanwhile.
//!
//! Each case has a control plane of its own and nodes without a kubelet, and prints its figures in one line. The same
//! cases run with another build (`--plimsoll FILE`), so that a change can be compared with what was before.
#![expect(clippy::disallowed_methods, reason = "this program measures time")]

mod api;
mod closed;
mod extent;
mod lab;
mod places;
mod report;
mod sample;
mod volumes;

use std::{io::Write as _, path::PathBuf};

use anyhow::{Result, ensure};
use clap::Parser;
use futures_util::{FutureExt, future::LocalBoxFuture};
use plimsoll_harness::{binary, policies, use_binary};

use crate::{
    closed::{Before, Closed},
    extent::Extent,
    lab::{adjacent, spaced},
    places::{Gangs, Reach, Volumes},
    report::{Figures, Output},
    sample::{FullPool, Needle, Preemptors},
};

/// Measures what pods wait for on a real control plane.
#[derive(Debug, Parser)]
#[command(name = "plimsoll-waiting")]
struct Args {
    /// Run only the cases whose name contains one of these
    #[arg(long, value_delimiter = ',', default_value = "")]
    only: Vec<String>,

    /// List the cases
    #[arg(long)]
    list: bool,

    /// Measure this build of plimsoll
    #[arg(long, value_name = "FILE")]
    plimsoll: Option<PathBuf>,

    #[arg(long, value_enum, default_value = "text")]
    output: Output,

    /// A line for the sidecar of the policy that gangs have
    #[arg(long, value_name = "LINE", default_value = "")]
    gang_line: String,

    #[command(flatten)]
    extent: Extent,
}

/// A case that has not begun.
type Case = (&'static str, LocalBoxFuture<'static, Result<Figures>>);

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(file) = &args.plimsoll {
        use_binary(file.canonicalize()?);
    }
    // Nothing is built while it is measured.
    let _built = (binary(), policies());
    let mut failed = vec![];
    for (name, case) in cases(&args) {
        if !args.only.iter().any(|part| name.contains(part)) {
            continue;
        }
        if args.list {
            writeln!(std::io::stdout(), "{name}")?;
            continue;
        }
        match case.await {
            Ok(figures) => figures.print(name, args.output)?,
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn cases(args: &Args) -> Vec<Case> {
    let extent = args.extent;
    let needle = Needle { nodes: 1_000, pods: 10, others: 0, tenants: 1, replicas: 1 };
    let local = Volumes { nodes: 3, pods: 3, most: 1, reach: Reach::Node, is_set: false };
    let network = Volumes { nodes: 3, pods: 30, most: 10, reach: Reach::All, is_set: false };
    let set = Volumes { nodes: 6, pods: 6, most: 2, reach: Reach::Zone, is_set: true };
    let two = Gangs { nodes: 6, groups: 2, members: 4, singles: 0 };
    let closed = Closed { first: 100, second: 1_100, before: Before::Nothing };
    let gangs = |gangs: Gangs| gangs.run(args.gang_line.clone(), extent).boxed_local();
    let preemptors = |nodes, pool, free| Preemptors { nodes, pool, free, pods: 8 }.run(extent).boxed_local();
    let full = FullPool { nodes: 1_000, waiting: 2, others: 1, is_mixed: true, outranks: false, is_resolvable: false };
    vec![
        ("needle 1000", needle.run(extent).boxed_local()),
        ("needle 1000 beside 15", Needle { others: 15, ..needle }.run(extent).boxed_local()),
        ("needle 1000 beside 40", Needle { others: 40, ..needle }.run(extent).boxed_local()),
        ("needle 1000 two tenants", Needle { tenants: 2, ..needle }.run(extent).boxed_local()),
        ("needle 1000 two replicas", Needle { replicas: 2, ..needle }.run(extent).boxed_local()),
        ("needle 5000", Needle { nodes: 5_000, ..needle }.run(extent).boxed_local()),
        ("needle 5000 beside 15", Needle { nodes: 5_000, others: 15, ..needle }.run(extent).boxed_local()),
        ("full-pool 153 alike", FullPool { nodes: 153, is_mixed: false, ..full }.run(extent).boxed_local()),
        ("full-pool 300", FullPool { nodes: 300, ..full }.run(extent).boxed_local()),
        ("full-pool 1000", full.run(extent).boxed_local()),
        ("full-pool 1000 quiet", FullPool { others: 0, ..full }.run(extent).boxed_local()),
        ("full-pool 1000 of 20", FullPool { waiting: 20, ..full }.run(extent).boxed_local()),
        ("full-pool 1000 outranks", FullPool { outranks: true, ..full }.run(extent).boxed_local()),
        (
            "full-pool 300 resolvable",
            FullPool { nodes: 300, outranks: true, is_resolvable: true, ..full }.run(extent).boxed_local(),
        ),
        ("evictions", preemptors(1_000, spaced(1_000, 30).collect(), 1)),
        ("preempt 1000", preemptors(1_000, adjacent(1_000, 3).collect(), 0)),
        ("preempt 5000", preemptors(5_000, adjacent(5_000, 3).collect(), 0)),
        ("wait-500", sample::wait_500(extent).boxed_local()),
        ("unmodelled", sample::unmodelled(extent).boxed_local()),
        ("never", sample::never(extent).boxed_local()),
        ("closed 1200", closed.run(extent).boxed_local()),
        ("closed 12000", Closed { second: 11_900, ..closed }.run(extent).boxed_local()),
        ("closed deleted", Closed { first: 200, second: 200, before: Before::Deletion }.run(extent).boxed_local()),
        ("closed restart", Closed { before: Before::Restart, ..closed }.run(extent).boxed_local()),
        ("reload", closed::reload(extent).boxed_local()),
        ("late-volumes 3", local.run(extent).boxed_local()),
        ("late-volumes 6", Volumes { pods: 6, ..local }.run(extent).boxed_local()),
        ("burst-volumes 10", network.run(extent).boxed_local()),
        ("burst-volumes 1", Volumes { most: 1, ..network }.run(extent).boxed_local()),
        ("gangs two on 6", gangs(two)),
        ("gangs two on 8", gangs(Gangs { nodes: 8, ..two })),
        ("gangs one and singles", gangs(Gangs { nodes: 5, groups: 1, singles: 2, ..two })),
        ("gangs of 250", gangs(Gangs { nodes: 300, groups: 1, members: 250, ..two })),
        ("statefulset late", set.run(extent).boxed_local()),
        ("statefulset bound", Volumes { reach: Reach::AllBefore, ..set }.run(extent).boxed_local()),
    ]
}
