//! `plimsoll run`: one pod, every node, every policy, on a laptop.

mod report;

use std::{
    borrow::Cow,
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use plimsoll_core::{Cluster, Gateway, NoObserver, Nodes, Pod, Query, SystemClock};
use plimsoll_directory::{Directory, DirectoryConfig};

use crate::{
    args::{Output, RunArgs},
    demo::sample,
};
use report::Report;

/// Nobody waits for an answer here.
const TIMEOUT: Duration = Duration::from_mins(1);

pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
    let cluster = cluster(args)?;
    gateway.set_cluster(Arc::clone(&cluster));
    let loader = Arc::new(super::loader(&args.engine)?);
    let (_, update) = Directory::open(DirectoryConfig::new(args.policies.clone()), loader)?;
    if let Some(failure) = update.roster.failures().first() {
        bail!("policy {} cannot be loaded: {}", failure.name, failure.error);
    }
    gateway.set_roster(update.roster);

    let pod = Arc::new(read_pod(&args.pod)?);
    let report = ask(&gateway, args, &pod, &cluster)?;
    match args.output {
        Output::Text => super::print(&report.as_text(args.rows))?,
        Output::Json => super::print(&format!("{:#}\n", report.as_json()))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// From the API server, from a file, or else the demo's.
fn cluster(args: &RunArgs) -> Result<Arc<Cluster>> {
    if let Some(kubeconfig) = &args.kubeconfig {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return Ok(runtime.block_on(plimsoll_cluster::list_once(kubeconfig, TIMEOUT))?);
    }
    Ok(Arc::new(args.snapshot.as_deref().map_or_else(|| Ok(sample::cluster()), plimsoll_cluster::read_snapshot)?))
}

fn read_pod(path: &Path) -> Result<Pod> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    Ok(plimsoll_cluster::read_pod(path)?)
}

/// Asks as kube-scheduler would: filter, then prioritize what is left; and each policy by itself.
fn ask(gateway: &Gateway, args: &RunArgs, pod: &Arc<Pod>, cluster: &Cluster) -> Result<Report> {
    let names: Vec<Cow<'_, str>> = if args.nodes.is_empty() {
        cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect()
    } else {
        args.nodes.iter().map(|name| Cow::Borrowed(name.as_str())).collect()
    };
    let query = |names| Query { pod: Arc::clone(pod), nodes: Nodes::Names(names), received: Instant::now() };
    let survey = gateway.survey(&args.group, &query(&names))?;
    let filter = gateway.filter(&args.group, &query(&names)).map(|(outcome, _)| outcome);
    let rejected = |at: usize| match &filter {
        Ok(outcome) => outcome.rejected.iter().find(|rejection| rejection.node as usize == at).copied(),
        Err(_) => None,
    };
    let kept: Vec<usize> = (0..names.len()).filter(|at| filter.is_ok() && rejected(*at).is_none()).collect();
    let left: Vec<Cow<'_, str>> = kept.iter().map(|at| names[*at].clone()).collect();
    let scores = gateway.prioritize(&args.group, &query(&left)).map(|(outcome, _)| outcome.scores);
    Ok(Report::new(pod, names.iter().map(ToString::to_string).collect(), survey, filter, &kept, scores))
}
