//! `plimsoll run`: one pod, every node, every policy, on a laptop.

mod report;

use std::{borrow::Cow, process::ExitCode, sync::Arc, time::Instant};

use anyhow::Result;
use plimsoll_core::{Cluster, Gateway, Nodes, Pod, Query};

use super::{explain, laptop};
use crate::args::{Output, RunArgs};
use report::Report;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let (snapshot, kubeconfig) = (args.snapshot.as_deref(), args.kubeconfig.as_deref());
    let (gateway, cluster) = laptop::gateway(&args.policies, snapshot, kubeconfig, &args.engine)?;
    let pod = Arc::new(laptop::read_pod(&args.pod)?);
    let report = ask(&gateway, args, &pod, &cluster)?;
    let explained = if args.explain { args.nodes.as_slice() } else { &[] };
    let explanations = explained
        .iter()
        .map(|node| Ok((node, explain::ask(&gateway, &args.group, &pod, &cluster, node)?)))
        .collect::<Result<Vec<_>>>()?;
    match args.output {
        Output::Text => {
            let told = explanations.iter().map(|(node, told)| format!("\n{}", explain::as_text(&pod, node, told)));
            super::print(&(report.as_text(args.rows) + &told.collect::<String>()))?;
        }
        Output::Json => {
            let mut json = report.as_json();
            if args.explain {
                json["explanations"] =
                    explanations.iter().map(|(node, told)| explain::as_json(&pod, node, told)).collect();
            }
            super::print(&format!("{json:#}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
