//! `plimsoll run`: one pod, every node, every policy, on a laptop.

mod report;

use std::{borrow::Cow, process::ExitCode, sync::Arc};

use anyhow::Result;
use plimsoll_core::{Nodes, Pod, Query, SchedulerFilters, ScoreScale, Slot};

use super::offline::OfflineGateway;
use crate::{args::RunArgs, logging, render::explanation};
use report::RunReport;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(&args.ask)?;
    // Only from here on: the trial of each loaded policy logs lines about sample nodes.
    logging::start_for_command();
    if let Some(absent) = args.nodes.iter().find(|node| offline.cluster.find(node).is_none()) {
        return Err(explanation::no_such_node(absent));
    }
    let filters = if args.policies_only { None } else { Some(offline.scheduler_filters(&pod, &args.ask)?) };
    let mut report = ask(&offline, args, &pod, filters.as_ref())?;
    if !args.nodes.is_empty() {
        report.show_only(&args.nodes);
    }
    offline.print(&args.ask, &report.as_text(args.rows), report.as_json(), report.is_decided())
}

/// Asks as kube-scheduler would: its own filters, then `filter` about the nodes that pass them, then `prioritize` about
/// the nodes that are left; and each policy by itself.
///
/// With `--node` too it asks about all nodes: a `rank` compares nodes, so among fewer it gives other scores.
fn ask<'f>(
    offline: &OfflineGateway,
    args: &RunArgs,
    pod: &Arc<Pod>,
    filters: Option<&'f SchedulerFilters<'_>>,
) -> Result<RunReport<'f>> {
    let OfflineGateway { gateway, cluster, .. } = offline;
    let group = &args.ask.group;
    let rejection = |slot: &Slot| filters.and_then(|filters| filters.rejection(slot));
    let devices = |slot: &Slot| cluster.device_classes().remark(pod, &slot.node);
    let slots = cluster.slots().iter();
    let nodes: Vec<_> = slots.map(|slot| (slot.node.name().as_ref(), rejection(slot), devices(slot))).collect();
    let asked = nodes.iter().filter(|(_, rejection, _)| rejection.is_none());
    let names: Vec<Cow<'_, str>> = asked.map(|(name, ..)| Cow::Borrowed(*name)).collect();
    let query = |names| Query::new(Arc::clone(pod), Nodes::Names(names));
    let survey = gateway.begin(group)?.survey(&query(&names))?;
    let filter = gateway.begin(group)?.dry_filter(&query(&names)).map(|(outcome, _)| outcome);
    let mut report = RunReport::new(pod, nodes, filters, survey, filter);
    // Without a filter decision kube-scheduler asks for no scores.
    let kept: Vec<usize> = report.kept().collect();
    let left: Vec<Cow<'_, str>> = kept.iter().map(|at| report.node(*at).to_owned().into()).collect();
    if report.is_decided() {
        let scores = gateway.begin(group)?.prioritize(ScoreScale::Coarse, &query(&left));
        report.add_scores(&kept, scores.map(|(scores, _)| scores));
    }
    report.sort();
    Ok(report)
}
