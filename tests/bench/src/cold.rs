//! The first request after a start: nothing is remembered yet.

use anyhow::Result;
use plimsoll_harness::{Client, Peer, samples};

use crate::{
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    servers::{Setting, Turns},
    wire::{CLUSTER, VERBS},
    world,
};

/// Starts both extenders again and again, and times the first call of each verb.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let ten = samples::ten();
    let setting = Setting::new(modules, &ten, Some(world::snapshot(CLUSTER).as_bytes()))?;
    let body = world::names_body(CLUSTER);
    let mut turns = VERBS.map(|_| Turns::default());
    for _ in 0..plan.times(9) {
        let (plimsoll, go) = (setting.plimsoll()?, setting.go()?);
        for (verb, turns) in VERBS.iter().zip(&mut turns) {
            let first = |peer: &Peer| -> Result<_> {
                let mut client = Client::connect(peer.address)?;
                let started = std::time::Instant::now();
                client.post(&format!("/{verb}"), &body)?;
                Ok(started.elapsed())
            };
            turns.plimsoll.add(first(&plimsoll)?);
            turns.go.add(first(&go)?);
        }
    }
    for (verb, turns) in VERBS.iter().zip(&turns) {
        let row = Row::new("cold", "names", CLUSTER, ten.len()).verb(verb);
        report.add(row.clone().timed(&turns.plimsoll))?;
        report.add(Row { server: "go", ..row }.timed(&turns.go))?;
    }
    Ok(())
}
