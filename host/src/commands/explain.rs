//! `plimsoll explain`: what each policy says about a pod and a node, and what it read to say so.

use std::{borrow::Cow, fmt::Write, process::ExitCode, sync::Arc, time::Instant};

use anyhow::{Context, Result};
use plimsoll_core::{Cluster, Explained, Explanation, Gateway, Nodes, Pod, Query, SurveyAnswer, Verdict};
use serde_json::{Value, json};

use super::laptop;
use crate::args::{ExplainArgs, Output};

pub(super) fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    let (snapshot, kubeconfig) = (args.snapshot.as_deref(), args.kubeconfig.as_deref());
    let (gateway, cluster) = laptop::gateway(&args.policies, snapshot, kubeconfig, &args.engine)?;
    let pod = Arc::new(laptop::read_pod(&args.pod)?);
    let explanation = ask(&gateway, &args.group, &pod, &cluster, &args.node)?;
    match args.output {
        Output::Text => super::print(&as_text(&pod, &args.node, &explanation))?,
        Output::Json => super::print(&format!("{:#}\n", as_json(&pod, &args.node, &explanation)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks about one node among all of the cluster: a policy may look at the others.
pub(crate) fn ask(
    gateway: &Gateway,
    group: &str,
    pod: &Arc<Pod>,
    cluster: &Cluster,
    node: &str,
) -> Result<Explanation> {
    let names: Vec<Cow<'_, str>> =
        cluster.slots().iter().map(|slot| Cow::Borrowed(slot.node.name().as_ref())).collect();
    let at = names.iter().position(|name| name == node).with_context(|| format!("the cluster has no node '{node}'"))?;
    let query = Query { pod: Arc::clone(pod), nodes: Nodes::Names(&names), received: Instant::now() };
    Ok(gateway.explain(group, &query, at as u32)?)
}

pub(super) fn as_text(pod: &Pod, node: &str, explanation: &Explanation) -> String {
    let mut text = format!("pod {}/{} on node {node}\n", pod.namespace(), pod.name());
    // Writing to a string cannot fail.
    for Explained { member, verb, answer, reads, is_remembered } in &explanation.answers {
        let _ = writeln!(text, "\n{} {verb}: {}", member.id(), answer_text(answer.as_ref()));
        let width = reads.iter().map(|line| line.read.len()).max().unwrap_or_default();
        for line in reads {
            let others = if line.is_of_others { "   (not of this node alone)" } else { "" };
            let _ = writeln!(text, "  {:<width$}  {}{others}", line.read, line.value);
        }
        if !is_remembered {
            let _ = writeln!(text, "  not remembered: the policy is asked each time");
        }
    }
    for (member, why) in &explanation.not_asked {
        let _ = writeln!(text, "\n{} is not asked: {why}", member.id());
    }
    text
}

fn answer_text(answer: Result<&SurveyAnswer, &plimsoll_core::Fault>) -> String {
    match answer {
        Err(fault) => format!("failed: {fault}"),
        Ok(SurveyAnswer::Score(score)) => score.to_string(),
        Ok(SurveyAnswer::Verdict(Verdict::Fits)) => "fits".to_owned(),
        Ok(SurveyAnswer::Verdict(Verdict::Unschedulable(reason))) => format!("unschedulable, {reason}"),
        Ok(SurveyAnswer::Verdict(Verdict::Unresolvable(reason))) => format!("unresolvable, {reason}"),
    }
}

/// The same for programs, and for the admin listener.
pub(crate) fn as_json(pod: &Pod, node: &str, explanation: &Explanation) -> Value {
    let answer = |explained: &Explained| {
        let reads = explained
            .reads
            .iter()
            .map(|line| json!({"read": line.read, "value": line.value, "others": line.is_of_others}));
        json!({
            "policy": explained.member.id(),
            "verb": explained.verb.as_str(),
            "mode": explained.member.config.mode.as_str(),
            "answer": answer_text(explained.answer.as_ref()),
            "failed": explained.answer.is_err(),
            "remembered": explained.is_remembered,
            "reads": reads.collect::<Vec<_>>(),
        })
    };
    json!({
        "pod": format!("{}/{}", pod.namespace(), pod.name()),
        "node": node,
        "answers": explanation.answers.iter().map(answer).collect::<Vec<_>>(),
        "not_asked": explanation.not_asked.iter().map(|(member, why)| json!({"policy": member.id(), "why": why})).collect::<Vec<_>>(),
    })
}
