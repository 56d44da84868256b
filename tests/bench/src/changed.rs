//! Names mode after a change of the cluster: the first call that sees it.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::samples;

use crate::{
    client::Client,
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    toggles::Toggles,
    wire::{CHANGED, CLUSTER, VERBS},
    world,
};

/// How long plimsoll may take to see a changed snapshot.
const PATIENCE: Duration = Duration::from_secs(30);

/// Changes 1 % of the nodes, waits until plimsoll shows it, and times the next call of each verb.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let mut snapshot = Toggles::new(world::snapshot(CLUSTER).into())?;
    let ten = samples::ten();
    let setting = Setting::new(modules, &ten, Some(snapshot.text()))?;
    let plimsoll = setting.plimsoll()?;
    let mut client = Client::connect(plimsoll.address)?;
    let body = world::names_body(CLUSTER);
    let mut times = VERBS.map(|_| Sample::default());
    for _ in 0..plan.times(15) {
        // Both verbs are warm before the change, as they are under a busy scheduler.
        for verb in VERBS {
            client.post(&format!("/{verb}"), &body)?;
        }
        snapshot.toggle(CLUSTER / CHANGED - 1);
        snapshot.toggle_first();
        let before = is_kept(&mut client)?;
        replace(setting.snapshot().context("a snapshot")?, snapshot.text())?;
        let started = Instant::now();
        while is_kept(&mut client)? == before {
            ensure!(started.elapsed() < PATIENCE, "a changed snapshot is not used");
            std::thread::sleep(Duration::from_millis(5));
        }
        for (verb, times) in VERBS.iter().zip(&mut times) {
            times.time(true, || client.post(&format!("/{verb}"), &body).map(drop))?;
        }
    }
    for (verb, times) in VERBS.iter().zip(&times) {
        report.add(Row::new("changed", "names", CLUSTER, ten.len()).verb(verb).timed(times))?;
    }
    Ok(())
}

/// Whether the first node is its team's; it changes sides with every change of the cluster.
fn is_kept(client: &mut Client) -> Result<bool> {
    let reply: serde_json::Value = serde_json::from_slice(client.post("/filter", &world::names_body(1))?)?;
    Ok(reply["NodeNames"] == serde_json::json!([world::name(0)]))
}

fn replace(path: &Path, text: &[u8]) -> Result<()> {
    let next = path.with_extension("next");
    std::fs::write(&next, text)?;
    Ok(std::fs::rename(next, path)?)
}
