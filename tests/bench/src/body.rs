//! 40 MB of whole nodes: what the wire takes, beside `serde_json` reading and splitting the same text.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use bytes::Bytes;
use plimsoll_core::{Gateway, NoObserver, Roster, SystemClock};
use plimsoll_http::answer;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    report::{Report, Row},
    sample::{Effort, Sample},
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
pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let body = world::objects_body(NODES, BYTES);
    let known = gateway();
    let (mut split, mut new, mut again) = (Sample::default(), Sample::default(), Sample::default());
    Effort::new(6, 30).rounds(|counts| {
        let parts: Split<'_> = split.time(counts, || serde_json::from_slice(&body))?;
        ensure!(parts.nodes.items.len() == NODES && !parts.pod.get().is_empty(), "the body is split wrongly");
        reply(&gateway(), &body, counts.then_some(&mut new))?;
        reply(&known, &body, counts.then_some(&mut again))
    })?;

    report.add(Row { server: "serde_json", ..Row::new("body split", "objects", NODES, 0, "filter", &split) })?;
    report.add(Row::new("body new", "objects", NODES, 0, "filter", &new))?;
    report.add(Row::new("body known", "objects", NODES, 0, "filter", &again))?;
    let ratio = |sample: &Sample| sample.percentile(0.5) / split.percentile(0.5);
    let times = |ratio: f64| format!("{ratio:.2} x");
    report.aim("body: 40 MB of known nodes, against reading and splitting", 3.0, ratio(&again), times);
    report.aim("body: 40 MB of new nodes, against reading and splitting", 3.0, ratio(&new), times);
    Ok(())
}

fn gateway() -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(vec![])));
    gateway
}

fn reply(gateway: &Gateway, body: &Bytes, sample: Option<&mut Sample>) -> Result<()> {
    let started = Instant::now();
    let answer = answer(gateway, "/filter", body, started);
    if let Some(sample) = sample {
        sample.add(started.elapsed());
    }
    ensure!(answer.status == 200 && answer.error.is_none(), "no decision: {:?}", answer.error);
    answer.after.run();
    Ok(())
}
