//! Names mode with facts about every node: calls between two changes, and the first ones after all values have changed.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use plimsoll_core::{FactSource, Facts, Gateway, NoObserver, SystemClock};
use plimsoll_harness::{
    Client,
    samples::{self, Sample},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    engine,
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample as Times,
    servers::Setting,
    wire::{CLUSTER, VERBS},
    world,
};

/// The source; the guest that shows the number of a reading asks for this one.
const SOURCE: &str = "calendar";

/// The key with the number of the reading.
const READING: &str = "today";

/// The group of the policy that rejects every node with the number of the reading. It reads nothing about nodes, so that
/// asking it prepares nothing for the call that is measured.
const GROUP: &str = "reading";

/// The time in which plimsoll must see a change.
const PATIENCE: Duration = Duration::from_secs(30);

/// The greatest difference of a load between two readings of an idle cluster.
const NOISE: f64 = 0.01;

/// Calls of each verb after a change that count as none of either kind, and those that count as steady.
const CALLS: [usize; 2] = [3, 20];

/// Rows of one source: steady and after a change, and the source's key `round`.
const SOURCES: [([&str; 2], &str); 2] = [(["load", "load new"], ""), (["load rounded", "rounded new"], "round: 0.05")];

/// A running plimsoll whose facts change.
struct Measured {
    client: Client,
    files: TempDir,
    reading: usize,
}

/// Measures readings in this process, and then `load-aware` by itself and beside ten policies.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    readings(plan, report)?;
    for (works, round) in SOURCES {
        for samples in [vec![], samples::ten()] {
            calls(plan, modules, report, &samples, (works, round))?;
        }
    }
    Ok(())
}

/// Parsing a reading, and putting it in force: with the values before, and with others.
fn readings(plan: &Plan, report: &mut Report) -> Result<()> {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), PATIENCE);
    gateway.set_cluster(engine::cluster()?);
    let [mut parse, mut same, mut other] = [(); 3].map(|()| Times::default());
    for reading in 0..plan.times(60) {
        let text = csv(reading);
        let read =
            || -> Result<Facts> { Ok(Facts::from_iter([(Arc::from(SOURCE), Arc::new(FactSource::from_csv(&text)?))])) };
        let facts = parse.time(true, read)?;
        let again = read()?;
        other.time(reading > 0, || gateway.set_facts(&facts));
        same.time(true, || gateway.set_facts(&again));
    }
    for (verb, times) in [("parse", &parse), ("publish", &other), ("unchanged", &same)] {
        report.add(Row::new("reading", "none", engine::NODES, 0).verb(verb).timed(times))?;
    }
    Ok(())
}

fn calls(
    plan: &Plan,
    modules: &Modules,
    report: &mut Report,
    samples: &[Sample],
    (works, round): ([&'static str; 2], &str),
) -> Result<()> {
    let setting = Setting::new(modules, samples, Some(world::snapshot(CLUSTER).as_bytes()))?;
    add_policies(modules, setting.policies())?;
    let files = tempfile::tempdir()?;
    let source = format!("{SOURCE}: {{file: {{path: load.csv, every: 1s}}, maxAge: 10m, {round}}}\n");
    let path = files.path().join("facts.yaml");
    fs::write(&path, source)?;
    let plimsoll = setting.plimsoll_with(&["--facts", path.to_str().context("a path that is UTF-8")?])?;
    plimsoll.wait_until_ready()?;
    let mut measured = Measured { client: Client::connect(plimsoll.address)?, files, reading: 0 };
    let body = world::names_body(CLUSTER);
    measured.change()?;
    let (mut steady, mut new) = (VERBS.map(|_| Times::default()), VERBS.map(|_| Times::default()));
    for _ in 0..plan.times(24) {
        for (verb, times) in VERBS.iter().zip(&mut steady) {
            let path = format!("/{verb}");
            for call in 0..CALLS[0] + CALLS[1] {
                times.time(call >= CALLS[0], || measured.client.post(&path, &body).map(drop))?;
            }
        }
        measured.change()?;
        for (verb, times) in VERBS.iter().zip(&mut new) {
            times.time(true, || measured.client.post(&format!("/{verb}"), &body).map(drop))?;
        }
    }
    for (work, times) in works.into_iter().zip([steady, new]) {
        for (verb, times) in VERBS.iter().zip(&times) {
            report.add(Row::new(work, "names", CLUSTER, samples.len() + 1).verb(verb).timed(times))?;
        }
    }
    Ok(())
}

/// `load-aware` beside the others, and in a group of its own the policy that shows the number of the reading.
fn add_policies(modules: &Modules, directory: &Path) -> Result<()> {
    // A guest that reads a source which is not named is refused, and the one of the group can read `load`.
    let sidecar =
        |settings: Value| json!({"timeout": "60s", "facts": [SOURCE, "load"], "settings": settings}).to_string();
    fs::write(directory.join("load.wasm"), modules.read("load-aware")?)?;
    fs::write(directory.join("load.yaml"), sidecar(json!({"load": SOURCE})))?;
    let group = directory.join(GROUP);
    fs::create_dir(&group)?;
    let guest = plimsoll_guests::compile("facts", include_str!("../../guests/guests/good/facts.wat"));
    fs::write(group.join("shown.wasm"), guest)?;
    fs::write(group.join("shown.yaml"), sidecar(Value::Null))?;
    Ok(())
}

// === impl Measured ===

impl Measured {
    /// Changes the load of all nodes, and waits until requests see it.
    fn change(&mut self) -> Result<()> {
        self.reading += 1;
        let [new, path] = ["new.csv", "load.csv"].map(|name| self.files.path().join(name));
        fs::write(&new, csv(self.reading))?;
        // Never half a file.
        fs::rename(new, path)?;
        let (path, body) = (format!("/{GROUP}/filter"), world::names_body(1));
        let expected = format!("shown: {}", self.reading);
        let started = Instant::now();
        loop {
            let reply: Value = serde_json::from_slice(self.client.post(&path, &body)?)?;
            if reply["FailedNodes"][world::name(0)] == expected.as_str() {
                return Ok(());
            }
            ensure!(started.elapsed() < PATIENCE, "a changed fact is not seen: {reply}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A reading: loads from 0 to 0.95, of which each reading has others by noise, with as many digits as Prometheus writes.
fn csv(reading: usize) -> String {
    let mut text = format!("{READING},{reading}\n");
    for node in 0..CLUSTER {
        let load = 0.95 * node as f64 / CLUSTER as f64 + NOISE * random((reading * CLUSTER + node) as u64);
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{},{load}", world::name(node));
    }
    text
}

/// From -1 to 1, the same in each run (`SplitMix64`).
fn random(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    f64::from((mixed ^ (mixed >> 31)) as u32) / f64::from(u32::MAX) * 2.0 - 1.0
}
