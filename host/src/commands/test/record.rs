//! `plimsoll test --record`: cuts a case out of a request or a snapshot.

use std::{fs::OpenOptions, io::Write as _, path::Path, process::ExitCode, sync::Arc};

use anyhow::{Context, Result, bail};
use plimsoll_cases::Cut;
use plimsoll_core::Facts;
use plimsoll_wasm::WasmLoader;
use serde_json::{Map, Value};

use super::{find, request, run::Loaded};
use crate::{
    args::{RecordArgs, TestArgs},
    commands::undeclared_sources,
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
    let mut world = request::world(&args.record)?;
    let stem = subject.file.file_stem().unwrap_or_default().display().to_string();
    world.facts = facts(&policy, &stem, args.record.facts_snapshot.as_deref())?;
    let cut = Cut {
        policy: policy.policy.as_ref(),
        settings: &policy.settings,
        limits: policy.limits,
        description: args.record.description.as_deref().unwrap_or("describe the rule that this case shows"),
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

/// The facts that the policy may read, by its names of the sources: those of its files and of the snapshot.
fn facts(policy: &Loaded, name: &str, snapshot: Option<&Path>) -> Result<Value> {
    let mut known: Facts = policy.sidecar_facts.iter().cloned().collect();
    let read = snapshot.map(plimsoll_cluster::read_facts).transpose()?.unwrap_or_default();
    read.sources().for_each(|(name, source)| known.insert(Arc::clone(name), Arc::clone(source)));
    if let Some(remark) = undeclared_sources::remark([(name, policy.fact_access.as_ref())], &known, snapshot) {
        output::remark(&remark);
    }
    let of = |global| known.source(global).map_or_else(|| Value::Object(Map::new()), |source| source.to_value());
    let all: Map<String, Value> =
        policy.fact_access.names().map(|(alias, global)| (alias.to_owned(), of(global))).collect();
    Ok(if all.is_empty() { Value::Null } else { Value::Object(all) })
}

/// The comment on the first line.
fn origin(args: &RecordArgs, policy: &str) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
    let files =
        [&args.request, &args.pod, &args.snapshot, &args.facts_snapshot].into_iter().flatten().map(|path| name(path));
    format!("Cut from {}: what {policy} read of it, and what it answered.", files.collect::<Vec<_>>().join(" and "))
}
