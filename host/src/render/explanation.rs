//! An explanation: each policy's answers about a pod and a node, and its reads.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::{Error, Result, anyhow};
use humantime::format_rfc3339_seconds;
use plimsoll_core::{Cluster, Explained, Explanation, Gateway, Pod, ReadLine, Shown, Verb};
use serde_json::{Value, json};

use super::answer;
use crate::text::{one_line, push_line};

/// Asks about one node among all nodes of the cluster: a policy may read the others.
pub(crate) fn ask(
    gateway: &Gateway,
    group: &str,
    pod: &Arc<Pod>,
    cluster: &Cluster,
    node: &str,
) -> Result<Explanation> {
    cluster.find(node).ok_or_else(|| no_such_node(node))?;
    Ok(gateway.begin(group)?.explain(pod, node)?)
}

/// The error about a node that the cluster does not have.
pub(crate) fn no_such_node(node: &str) -> Error {
    anyhow!("the cluster has no node '{}'", one_line(node))
}

/// `remarks` are lines about the pod and the node beside the policies.
pub(crate) fn as_text(pod: &Pod, node: &str, explanation: &Explanation, remarks: &[String]) -> String {
    let verdict = explanation.verdict.as_ref().map_or_else(answer::no_decision, answer::verdict_text);
    let mut text = String::new();
    push_line(&mut text, format_args!("pod {}/{} on node {node}: {verdict}", pod.namespace(), pod.name()));
    if let Some(bind) = &explanation.bind {
        push_line(&mut text, format_args!("bind: {}", answer::bind_text(bind)));
    }
    for remark in remarks {
        push_line(&mut text, remark);
    }
    for Explained { member, verb, answer, reads, reads_left_out, is_cached } in &explanation.answers {
        let answer = answer.as_ref().map_or_else(|fault| format!("failed: {fault}"), answer::text);
        text.push('\n');
        push_line(&mut text, format_args!("{} {verb}: {answer}{}", member.id(), mode_text(member)));
        let width = reads.iter().map(|line| line.read.len()).max().unwrap_or_default();
        for line in reads {
            push_line(&mut text, format_args!("  {}", read_text(line, width)));
        }
        if *reads_left_out > 0 {
            push_line(
                &mut text,
                format_args!("  {reads_left_out} more reads are not shown: an explanation has 4 MiB of them"),
            );
        }
        if !is_cached && matches!(verb, Verb::Filter | Verb::Score) {
            push_line(&mut text, "  not cached: the policy is called for every request");
        }
    }
    for (member, why) in &explanation.not_asked {
        text.push('\n');
        push_line(&mut text, format_args!("{} is not asked: {why}", member.id()));
    }
    text
}

fn mode_text(member: &plimsoll_core::Member) -> &'static str {
    match member.config.mode {
        plimsoll_core::Mode::Shadow => "   (in shadow: it decides nothing)",
        _ => "",
    }
}

/// A read with its value, which stands in a column.
pub(crate) fn read_text(line: &ReadLine, width: usize) -> String {
    format!("{:<width$}  {}{}{}", line.read, value_text(line), meaning(line), others(line))
}

/// Settings are JSON and printed as they are: in quotes they would be full of backslashes.
fn value_text(line: &ReadLine) -> String {
    match &line.value {
        Shown::Text(text) if line.read == "host.settings" => one_line(text).into_owned(),
        value => value.to_string(),
    }
}

/// The date of a time, and the pods of a count.
fn meaning(line: &ReadLine) -> String {
    let name = line.read.split('(').next().unwrap_or_default();
    let is_time = name == "host.now" || name.ends_with(".created");
    match (&line.value, &line.counted) {
        (_, Some(counted)) => format!("   ({counted})"),
        // The contract has 0 for a time that is not known.
        (Shown::Number(0), _) if name.ends_with(".created") => "   (unknown)".to_owned(),
        (Shown::Number(seconds), _) if is_time => u32::try_from(*seconds)
            .map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds.into()))
            .map_or_else(|_| String::new(), |time| format!("   ({})", format_rfc3339_seconds(time))),
        _ => String::new(),
    }
}

fn others(line: &ReadLine) -> String {
    match &line.other {
        Some(node) => format!("   (of node {node})"),
        None if line.is_of_others => "   (not of this node alone)".to_owned(),
        None => String::new(),
    }
}

/// A read for programs.
pub(crate) fn read_json(line: &ReadLine) -> Value {
    let mut json = json!({"read": line.read, "value": answer::value_json(&line.value), "others": line.is_of_others});
    if let Some(node) = &line.other {
        json["node"] = node.as_ref().into();
    }
    if let Some(counted) = &line.counted {
        json["counted"] = counted.as_str().into();
    }
    json
}

/// The same for programs, and for the admin listener.
pub(crate) fn as_json(pod: &Pod, node: &str, explanation: &Explanation) -> Value {
    let answer = |explained: &Explained| {
        json!({
            "policy": explained.member.id(),
            "verb": explained.verb.as_str(),
            "mode": explained.member.config.mode.as_str(),
            "answer": explained.answer.as_ref().map_or_else(answer::fault_json, answer::json),
            "cached": explained.is_cached,
            "reads": explained.reads.iter().map(read_json).collect::<Vec<_>>(),
            "readsLeftOut": explained.reads_left_out,
        })
    };
    let mut json = json!({
        "pod": format!("{}/{}", pod.namespace(), pod.name()),
        "node": node,
        "decision": explanation.verdict.as_ref().map_or_else(answer::error_json, answer::verdict_json),
        "bind": explanation.bind.as_ref().map(answer::bind_json),
        "answers": explanation.answers.iter().map(answer).collect::<Vec<_>>(),
        "notAsked": explanation.not_asked.iter().map(|(member, why)| json!({"policy": member.id(), "why": why})).collect::<Vec<_>>(),
    });
    if explanation.gets_one_node {
        json["note"] =
            "kube-scheduler gets one node for this pod, the best of those that fit: it may be another".into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_date_and_a_count_its_pods() {
        let line = |read: &str, value: i64, counted: Option<&str>| {
            let (read, value, counted) = (read.to_owned(), Shown::Number(value), counted.map(str::to_owned));
            read_text(&ReadLine { read, value, other: None, counted, is_of_others: false }, 0)
        };
        assert_eq!(line("host.now(60)", 60, None), "host.now(60)  60   (1970-01-01T00:01:00Z)");
        assert_eq!(line("placed.created(0)", 0, None), "placed.created(0)  0   (unknown)");
        assert_eq!(line("cluster.count({})", 1, Some("now 1: a/b on c")), "cluster.count({})  1   (now 1: a/b on c)");
        assert_eq!(line("node.count-labelled(1)", 60, None), "node.count-labelled(1)  60");
    }
}
