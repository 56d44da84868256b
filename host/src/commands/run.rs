//! `plimsoll run`: one pod, every node, every policy, on a laptop.

mod report;

use std::{borrow::Cow, process::ExitCode, sync::Arc};

use anyhow::Result;
use plimsoll_core::{Nodes, Pod, Query, ScoreScale};

use super::offline::OfflineGateway;
use crate::{args::RunArgs, logging, render::explanation};
use report::RunReport;

pub(super) fn run(RunArgs { nodes, rows, ask: args }: &RunArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    // Only from here on: the trial of each loaded policy logs lines about sample nodes.
    logging::start_for_command();
    if let Some(absent) = nodes.iter().find(|node| offline.cluster.find(node).is_none()) {
        return Err(explanation::no_such_node(absent));
    }
    let mut report = ask(&offline, &args.group, &pod)?;
    if !nodes.is_empty() {
        report.show_only(nodes);
    }
    offline.print(args, &report.as_text(*rows), report.as_json(), report.is_decided())
}

/// Asks as kube-scheduler would: filter, then prioritize the nodes that are left; and each policy by itself.
///
/// With `--node` too it asks about all nodes: a `rank` compares nodes, so among fewer it gives other scores.
fn ask(offline: &OfflineGateway, group: &str, pod: &Arc<Pod>) -> Result<RunReport> {
    let OfflineGateway { gateway, cluster, .. } = offline;
    let names: Vec<Cow<'_, str>> =
        cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect();
    let query = |names| Query::new(Arc::clone(pod), Nodes::Names(names));
    let survey = gateway.survey(group, &query(&names))?;
    let filter = gateway.filter(group, &query(&names)).map(|(outcome, _)| outcome);
    let mut report = RunReport::new(pod, names.iter().map(ToString::to_string).collect(), survey, filter);
    // Without a filter decision kube-scheduler asks for no scores.
    let kept: Vec<usize> = report.kept().collect();
    let left: Vec<Cow<'_, str>> = kept.iter().map(|at| names[*at].clone()).collect();
    if report.is_decided() {
        let scores = gateway.prioritize(ScoreScale::Coarse, group, &query(&left));
        report.add_scores(&kept, scores.map(|(scores, _)| scores));
    }
    report.sort();
    Ok(report)
}
