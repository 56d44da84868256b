//! The memory that a large cluster takes: a real plimsoll with ten policies lists it from an API server, and is asked.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Client, Peer, samples, write_kubeconfig};
use serde_json::Value;

use crate::{
    api_server::{self, Size},
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    world,
};

/// The cluster of the aim; a quick run takes a tenth.
const SIZE: Size = Size { nodes: 5_000, pods: 150_000 };

/// The aim.
const MOST_MIB: f64 = 512.0;

/// Starts plimsoll on the cluster, asks it about every node, and reads what it holds and held at most.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let size = if plan.quick { Size { nodes: SIZE.nodes / 10, pods: SIZE.pods / 10 } } else { SIZE };
    let ten = samples::ten();
    let setting = Setting::new(modules, &ten, None)?;
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    write_kubeconfig(&kubeconfig, api_server::serve(size)?)?;
    let started = Instant::now();
    let plimsoll = setting.plimsoll_with(&["--kubeconfig", kubeconfig.to_str().context("a path that is UTF-8")?])?;
    let body = world::names_body(size.nodes);
    let mut client = Client::connect(plimsoll.address)?;
    while !knows_the_cluster(client.post("/filter", &body)?)? {
        ensure!(started.elapsed() < Duration::from_mins(15), "plimsoll does not get to know the cluster");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut listed = Sample::default();
    listed.add(started.elapsed());
    for _ in 0..10 {
        client.post("/filter", &body)?;
        client.post("/prioritize", &body)?;
    }
    report.add(Row::new("first lists", "watch", size.nodes, ten.len()).timed(&listed))?;
    let (now, peak) = (resident(&plimsoll, "VmRSS:")?, resident(&plimsoll, "VmHWM:")?);
    let what = if plan.quick { "memory, 500 nodes, 15,000 pods" } else { "memory, 5,000 nodes, 150,000 pods" };
    report.at_most(what, MOST_MIB, Some(now), "MiB");
    report.at_most("the same at its highest, the first lists included", MOST_MIB, Some(peak), "MiB");
    Ok(())
}

/// Whether a reply comes from a plimsoll that has listed; before that it is an error.
fn knows_the_cluster(reply: &[u8]) -> Result<bool> {
    let reply: Value = serde_json::from_slice(reply)?;
    Ok(reply["Error"].as_str().unwrap_or_default().is_empty())
}

/// A figure of the kernel about the process, in MiB.
fn resident(peer: &Peer, key: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", peer.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).with_context(|| format!("no {key}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
