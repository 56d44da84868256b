//! `plimsoll test --record`: cuts a case about a pod out of a snapshot.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, bail};
use plimsoll_cases::{Cut, World};
use plimsoll_cluster::RawObjects;
use plimsoll_core::Facts;
use plimsoll_wasm::WasmLoader;
use serde_json::{Map, Value};

use super::{find, run::Loaded};
use crate::{
    args::{RecordArgs, TestArgs},
    commands::offline::remark_on_facts,
    output,
    text::count,
};

pub(super) fn record(args: &TestArgs, target: &Path, loader: &WasmLoader) -> Result<ExitCode> {
    let found = find::find(args)?;
    let [subject] = &found.subjects[..] else {
        bail!("--record is about one policy, and there are {}: name its module or sidecar", found.subjects.len())
    };
    let refused = |why: &String| anyhow::anyhow!("policy {} cannot be loaded: {why}", subject.file.display());
    let files = subject.files.as_ref().map_err(refused)?;
    let policy = Loaded::of(files, loader).map_err(|why| refused(&why))?;
    let stem = subject.file.file_stem().unwrap_or_default().display().to_string();
    let world = World { facts: facts(&policy, &stem, args.record.facts_snapshot.as_deref())?, ..world(&args.record)? };
    let cut = Cut {
        policy: policy.policy.as_ref(),
        settings: &policy.settings,
        limits: policy.limits,
        description: "describe the rule that this case shows",
        origin: &origin(&args.record, &stem),
        keeps_nodes: !args.record.nodes.is_empty(),
    };
    let text = cut.write(world)?;
    if target == Path::new("-") {
        output::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    // A case that somebody has edited is not written over.
    let file = OpenOptions::new().write(true).create_new(true).open(target);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{} cannot be written; a file that exists is kept", target.display()))?;
    let lines = count(text.lines().count(), "line");
    output::print(&format!("{}: {lines}: check that `expect` is what you want\n", target.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The pod and the cluster that the arguments name, at the current time.
fn world(args: &RecordArgs) -> Result<World> {
    let (Some(pod), Some(snapshot)) = (&args.pod, &args.snapshot) else {
        bail!("--record needs --pod FILE and --snapshot FILE")
    };
    let RawObjects { nodes, pods, namespaces, device_classes } = plimsoll_cluster::read_objects(snapshot)?;
    let request = (!args.nodes.is_empty()).then(|| args.nodes.clone());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let pod = plimsoll_cluster::read_pod_as_json(pod)?;
    Ok(World { pod, nodes, request, pods, namespaces, device_classes, now, ..World::default() })
}

/// The facts that the policy may read, by its names of the sources: those of its files and of the snapshot.
fn facts(policy: &Loaded, name: &str, snapshot: Option<&Path>) -> Result<Value> {
    let mut known: Facts = policy.sidecar_facts.iter().cloned().collect();
    let read = snapshot.map(plimsoll_cluster::read_facts).transpose()?.unwrap_or_default();
    read.sources().for_each(|(name, source)| known.insert(Arc::clone(name), Arc::clone(source)));
    remark_on_facts(name, &policy.fact_access, &known, snapshot);
    let of = |global| known.source(global).map_or_else(|| Value::Object(Map::new()), |source| source.to_value());
    let all: Map<String, Value> =
        policy.fact_access.names().map(|(alias, global)| (alias.to_owned(), of(global))).collect();
    Ok(if all.is_empty() { Value::Null } else { Value::Object(all) })
}

/// The comment on the first line.
fn origin(args: &RecordArgs, policy: &str) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    let files = [&args.pod, &args.snapshot, &args.facts_snapshot].into_iter().flatten().map(|path| name(path));
    format!("Cut from {}: what {policy} read of it, and what it answered.", files.collect::<Vec<_>>().join(" and "))
}
