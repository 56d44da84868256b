//! A policy by itself, asked in this process: no wire, no chain.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use bytes::Bytes;
use plimsoll_core::{Ask, Cluster, Limits, Loader, Node, Pod, Policy, View};
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

use crate::{
    modules::Modules,
    plan::Plan,
    report::{Report, Row},
    sample::Sample,
    world,
};

pub(crate) const NODES: usize = 5_000;

/// The namespace of the pod has a pool, others have theirs.
const SETTINGS: &str =
    r#"{"label":"example.com/pool","pools":{"team-a":"team-a","team-b":"team-b"},"shared":["shared"]}"#;

/// Measures a cold filter over all nodes, and over one: the cost of a fresh instance.
pub(crate) fn measure(plan: &Plan, modules: &Modules, report: &mut Report) -> Result<()> {
    let loader = WasmLoader::new(EngineConfig::in_process())?;
    let policy = loader.load("", &module_of(&modules.read("tenant-pool")?))?;

    let (cluster, all) = (cluster()?, (0..NODES as u32).collect::<Vec<_>>());
    let (many, one) = (view(&cluster, &all)?, view(&cluster, &all[..1])?);
    let (mut cold, mut fresh) = (Sample::default(), Sample::default());
    plan.effort(4, 200).rounds(|counts| ask(policy.as_ref(), &many, &all, cold_or(&mut cold, counts)))?;
    plan.effort(2, 5_000).rounds(|counts| ask(policy.as_ref(), &one, &all[..1], cold_or(&mut fresh, counts)))?;

    report.add(Row::new("engine cold", "none", NODES, 1).timed(&cold))?;
    report.add(Row::new("engine instance", "none", 1, 1).timed(&fresh))?;
    let millis = |us: f64| format!("{:.2} ms", us / 1e3);
    report.at_most("engine: 5,000 nodes, one Rust policy, cold filter", 8e3, Some(cold.percentile(0.5)), millis);
    let micros = |us: f64| format!("{us:.1} us");
    report.at_most("engine: a fresh instance, with one call", 50.0, Some(fresh.percentile(0.5)), micros);
    Ok(())
}

fn cold_or(sample: &mut Sample, counts: bool) -> Option<&mut Sample> {
    counts.then_some(sample)
}

fn ask(policy: &dyn Policy, view: &Arc<View>, nodes: &[u32], sample: Option<&mut Sample>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let limits = Limits::until(deadline, 64 << 20);
    let ask = Ask::new("bench".into(), Arc::clone(view), limits);
    let started = Instant::now();
    let verdicts = policy.filter(&ask, nodes).map_err(|fault| anyhow!("the policy failed: {fault}"))?;
    if let Some(sample) = sample {
        sample.add(started.elapsed());
    }
    anyhow::ensure!(verdicts.len() == nodes.len(), "{} verdicts for {} nodes", verdicts.len(), nodes.len());
    Ok(())
}

fn view(cluster: &Arc<Cluster>, nodes: &[u32]) -> Result<Arc<View>> {
    let pod = Arc::new(Pod::from_json(world::pod().to_string().into())?);
    Ok(Arc::new(View::new(pod, Arc::clone(cluster), nodes.into(), 0).with_settings(SETTINGS.into())))
}

/// The cluster of all measurements, without pods.
pub(crate) fn cluster() -> Result<Arc<Cluster>> {
    let node = |number| Node::from_json(Bytes::from(world::node(number, 2_000).to_string()));
    let nodes = (0..NODES).map(node).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Cluster::from_objects(nodes, vec![])))
}
