//! From a changed module on disk to the first decision by it, while requests go on.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_harness::{Client, samples};

use crate::{
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    servers::Setting,
    world,
};

/// A part of a reason of the filter; versions of the module differ in it alone.
const REASON: &[u8] = b"node is outside the namespace's pool";

/// Swaps a Rust module for one with another reason, again and again.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let pool = samples::five().into_iter().take(1).collect::<Vec<_>>();
    let setting = Setting::new(modules, &pool, Some(world::snapshot(20).as_bytes()))?;
    let (plimsoll, original) = (setting.plimsoll()?, modules.read(pool[0].rule)?);
    let (mut client, body) = (Client::connect(plimsoll.address)?, world::names_body(20));
    let (mut swaps, mut waits) = (Sample::default(), Sample::default());
    for number in 0..plan.times(15) {
        let (module, reason) = version(&original, number)?;
        replace(&setting.policies().join(format!("{}.wasm", pool[0].name)), &module)?;
        let changed = Instant::now();
        loop {
            let asked = Instant::now();
            let reply = client.post("/filter", &body).context("a request failed while the module changed")?;
            waits.add(asked.elapsed());
            if contains(reply, reason.as_bytes()) {
                break;
            }
            ensure!(changed.elapsed() < Duration::from_secs(20), "the changed module is not used");
        }
        swaps.add(changed.elapsed());
    }
    report.add(Row::new("reload", "names", 20, 1).timed(&swaps))?;
    report.add(Row::new("reload meanwhile", "names", 20, 1).timed(&waits))?;
    let took = swaps.percentile(0.5) / 1e3;
    report.at_most("reload: changed module on disk to first decision by it", 300.0, Some(took), "ms");
    Ok(())
}

/// The module with a number in its reason.
fn version(module: &[u8], number: usize) -> Result<(Vec<u8>, String)> {
    let at = module.windows(REASON.len()).position(|window| window == REASON);
    let at = at.context("tenant-pool.wasm does not hold the reason that reload looks for")?;
    let reason = format!("version {number:028}");
    let mut module = module.to_vec();
    module[at..at + REASON.len()].copy_from_slice(reason.as_bytes());
    Ok((module, reason))
}

/// As a careful operator does it: the whole file at once, under its name.
fn replace(path: &Path, module: &[u8]) -> Result<()> {
    let next = path.with_extension("next");
    std::fs::write(&next, module)?;
    Ok(std::fs::rename(next, path)?)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
