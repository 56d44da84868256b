//! `plimsoll run`: one pod, every node, every policy, on a laptop.

mod report;

use std::{borrow::Cow, collections::BTreeSet, process::ExitCode, sync::Arc};

use anyhow::{Result, bail};
use plimsoll_core::{Explanation, Nodes, Pod, Query, ScoreScale};

use super::offline::OfflineGateway;
use crate::{
    args::{FineScores, OutputFormat, RunArgs},
    logging, output,
    render::explanation,
};
use report::RunReport;

pub(super) fn run(RunArgs { nodes, explain, fine_scores, rows, ask: args }: &RunArgs) -> Result<ExitCode> {
    let (offline, pod) = OfflineGateway::open_for(args)?;
    // Only from here on: the trial of each loaded policy logs lines about sample nodes.
    logging::start_for_command();
    check_nodes(&offline, nodes)?;
    let shown: BTreeSet<&str> = nodes.iter().map(String::as_str).collect();
    let scale = scale(&offline, fine_scores, &args.group)?;
    let mut report = ask(&offline, &args.group, &pod, scale)?;
    if !shown.is_empty() {
        report.show_only(&shown);
    }
    let explanations = shown
        .iter()
        .map(|node| Ok((*node, explanation::ask(&offline.gateway, &args.group, &pod, &offline.cluster, node)?)))
        .collect::<Result<Vec<(&str, Explanation)>>>()?;
    let binds: Vec<_> =
        explanations.iter().filter_map(|(node, explanation)| Some((*node, explanation.bind.as_ref()?))).collect();
    match args.output {
        OutputFormat::Text => {
            let mut text = offline.origin.line.clone() + &report.as_text(*rows, &binds);
            text.extend(offline.remarks(&args.group).map(|remark| format!("{remark}\n")));
            if *explain {
                let as_text = |(node, it): &(&str, Explanation)| format!("\n{}", explanation::as_text(&pod, node, it));
                text.extend(explanations.iter().map(as_text));
            }
            output::print(&text)?;
        }
        OutputFormat::Json => {
            let mut json = report.as_json(&binds);
            offline.add_json(&mut json, &args.group);
            if *explain {
                let as_json = |(node, it): &(&str, Explanation)| explanation::as_json(&pod, node, it);
                json["explanations"] = explanations.iter().map(as_json).collect();
            }
            output::print(&format!("{json:#}\n"))?;
        }
    }
    Ok(if report.is_decided() && offline.left_out(&args.group).is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn check_nodes(offline: &OfflineGateway, nodes: &[String]) -> Result<()> {
    match nodes.iter().find(|node| offline.cluster.find(node).is_none()) {
        None => Ok(()),
        Some(absent) => Err(explanation::no_such_node(&offline.cluster, absent)),
    }
}

/// The scale of the scores of a group, by the flag `--fine-scores`.
fn scale(offline: &OfflineGateway, flags: &[FineScores], group: &str) -> Result<ScoreScale> {
    if let Some(absent) = flags.iter().find(|fine| offline.gateway.roster().group(&fine.group).is_none()) {
        bail!("--fine-scores {absent}: there is no such group");
    }
    let of_group = flags.iter().find(|fine| fine.group == group);
    Ok(of_group.map_or(ScoreScale::Coarse, |fine| fine.scale))
}

/// Asks as kube-scheduler would: filter, then prioritize the nodes that are left; and each policy by itself.
///
/// With `--node` too it asks about all nodes: a `rank` compares nodes, so among fewer it gives other scores.
fn ask(offline: &OfflineGateway, group: &str, pod: &Arc<Pod>, scale: ScoreScale) -> Result<RunReport> {
    let OfflineGateway { gateway, cluster, .. } = offline;
    let names: Vec<Cow<'_, str>> =
        cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect();
    let query = |names| Query::new(Arc::clone(pod), Nodes::Names(names));
    let survey = gateway.survey(group, &query(&names))?;
    let filter = gateway.filter(group, &query(&names)).map(|(outcome, _)| outcome);
    let rejected = |at: usize| match &filter {
        Ok(outcome) => outcome.rejected.iter().any(|rejection| rejection.node as usize == at),
        Err(_) => false,
    };
    let kept: Vec<usize> = (0..names.len()).filter(|at| filter.is_ok() && !rejected(*at)).collect();
    let left: Vec<Cow<'_, str>> = kept.iter().map(|at| names[*at].clone()).collect();
    let scores = match &filter {
        Ok(_) => gateway.prioritize(scale, group, &query(&left)).map(|(scores, _)| scores),
        // Without a filter decision kube-scheduler asks for no scores.
        Err(_) => Ok(Vec::new()),
    };
    Ok(RunReport::new(pod, names.iter().map(ToString::to_string).collect(), survey, filter, &kept, (scale, scores)))
}
