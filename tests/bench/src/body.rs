//! 40 MB of whole nodes: the time of the wire, beside that of `serde_json` for reading and splitting the same text.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use plimsoll_core::{Gateway, NoObserver, Roster, SystemClock};
use plimsoll_http::{RequestCache, answer};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    world,
};

const NODES: usize = 5_000;
const BYTES: usize = 40_000_000;

/// The same document, split by `serde_json` alone.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Split<'a> {
    #[serde(borrow)]
    pod: &'a RawValue,
    #[serde(borrow)]
    nodes: SplitNodes<'a>,
}

#[derive(Deserialize)]
struct SplitNodes<'a> {
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Measures the wire with nodes that it has never seen, and with nodes that it knows.
pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Result<()> {
    let body = world::objects_body(NODES, BYTES);
    let known = server();
    let (mut split, mut new, mut again) = (Sample::default(), Sample::default(), Sample::default());
    plan.effort(6, 30).rounds(|counts| {
        let parts: Split<'_> = split.time(counts, || serde_json::from_slice(&body))?;
        ensure!(parts.nodes.items.len() == NODES && !parts.pod.get().is_empty(), "the body is split wrongly");
        reply(&server(), &body, counts.then_some(&mut new))?;
        reply(&known, &body, counts.then_some(&mut again))
    })?;

    let row = |work| Row::new(work, "objects", NODES, 0);
    report.add(Row { server: "serde_json", ..row("body split") }.timed(&split))?;
    report.add(row("body new").timed(&new))?;
    report.add(row("body known").timed(&again))?;
    let ratio = |sample: &Sample| Some(sample.percentile(0.5) / split.percentile(0.5));
    let times = |ratio: f64| format!("{ratio:.2} x");
    report.at_most("body: 40 MB of known nodes, against reading and splitting", 3.0, ratio(&again), times);
    report.at_most("body: 40 MB of new nodes, against reading and splitting", 3.0, ratio(&new), times);
    Ok(())
}

fn server() -> (Gateway, RequestCache) {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(vec![])));
    (gateway, RequestCache::default())
}

fn reply((gateway, cache): &(Gateway, RequestCache), body: &Bytes, sample: Option<&mut Sample>) -> Result<()> {
    let started = Instant::now();
    let reply = answer(gateway, cache, "/filter", body, started);
    if let Some(sample) = sample {
        sample.add(started.elapsed());
    }
    ensure!(reply.status == 200 && reply.error.is_none(), "no decision: {:?}", reply.error);
    reply.after.run();
    Ok(())
}
