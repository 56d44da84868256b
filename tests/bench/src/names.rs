//! Names mode end to end over loopback, beside an echo of the same body.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::{
    client::Client,
    peer::Peer,
    policies::Modules,
    report::{Report, Row},
    sample::{Effort, Sample},
    world,
};

const CLUSTER: usize = 5_000;

/// Measures filter and prioritize for a small and a large request, by one policy and by ten.
pub(crate) fn measure(modules: &Modules, report: &mut Report) -> Result<()> {
    let snapshot = tempfile::NamedTempFile::with_suffix(".json")?;
    std::fs::write(snapshot.path(), world::snapshot(CLUSTER))?;
    let echo = Peer::echo()?;
    for policies in [1, 10] {
        let directory = modules.lay_out(policies)?;
        let plimsoll = Peer::plimsoll(directory.path(), snapshot.path())?;
        for nodes in [500, CLUSTER] {
            let mut median = 0.0;
            for verb in ["filter", "prioritize"] {
                let (own, peer) = measure_one(&plimsoll, &echo, nodes, verb)?;
                median += own.percentile(0.5);
                report.add(Row::new("names", "names", nodes, policies, verb, &own))?;
                report.add(Row { server: "echo", ..Row::new("names", "names", nodes, policies, verb, &peer) })?;
            }
            if let (10, Some((what, most))) = (policies, aim(nodes)) {
                report.aim(what, most, median, |us| format!("{:.2} ms", us / 1e3));
            }
        }
    }
    Ok(())
}

/// What ten policies may take for filter and prioritize together; it takes remembered answers to get there.
fn aim(nodes: usize) -> Option<(&'static str, f64)> {
    match nodes {
        500 => Some(("names: 500 nodes, ten policies, filter + prioritize", 250.0)),
        CLUSTER => Some(("names: 5,000 nodes, ten policies, filter + prioritize", 1e3)),
        _ => None,
    }
}

fn measure_one(plimsoll: &Peer, echo: &Peer, nodes: usize, verb: &str) -> Result<(Sample, Sample)> {
    let (path, body) = (format!("/{verb}"), world::names_body(nodes));
    let (mut to_plimsoll, mut to_echo) = (Client::connect(plimsoll.address)?, Client::connect(echo.address)?);
    check(to_plimsoll.post(&path, &body)?, verb, nodes)?;
    let (mut own, mut peer) = (Sample::default(), Sample::default());
    Effort::new(4, 1_000).rounds(|counts| {
        own.time(counts, || to_plimsoll.post(&path, &body).map(drop))?;
        peer.time(counts, || to_echo.post(&path, &body).map(drop))
    })?;
    Ok((own, peer))
}

/// A figure means nothing if the policies did not answer.
fn check(reply: &[u8], verb: &str, nodes: usize) -> Result<()> {
    let reply: Value = serde_json::from_slice(reply)?;
    if verb == "filter" {
        ensure!(reply["Error"] == "", "the filter failed: {}", reply["Error"]);
        let kept = reply["NodeNames"].as_array().map_or(0, Vec::len);
        ensure!(kept == nodes / 2, "{kept} of {nodes} nodes were kept, not half of them");
    } else {
        let scores = reply.as_array().map_or(&[][..], Vec::as_slice);
        ensure!(scores.len() == nodes, "{} scores for {nodes} nodes", scores.len());
        ensure!(scores.iter().any(|score| score["Score"] != 0), "no node has a score");
    }
    Ok(())
}
