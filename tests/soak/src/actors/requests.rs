//! Requests as kube-scheduler sends them, and what must hold for every correct answer.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use plimsoll_harness::Client;
use plimsoll_sample::{NODES, node_name};
use serde_json::{Value, json};

/// The nodes of a filter request, as the reply divides them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filtered {
    pub(super) kept: Vec<String>,
    /// Name and reason.
    pub(super) refused: BTreeSet<(String, String)>,
}

/// The names of all nodes of the sample cluster.
pub(super) fn all_names() -> Vec<String> {
    (0..NODES).map(node_name).collect()
}

/// `ExtenderArgs` that name nodes.
pub(super) fn by_name(pod: &Value, names: &[String]) -> String {
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string()
}

/// Posts a body; the reply as JSON.
pub(super) fn ask(client: &mut Client, path: &str, body: &str) -> Result<Value> {
    let reply = client.post(path, body.as_bytes())?;
    serde_json::from_slice(reply).with_context(|| String::from_utf8_lossy(&reply[..reply.len().min(300)]).into_owned())
}

/// Asks a filter about nodes; the answer is without an error, and has every node exactly once.
pub(super) fn filter(client: &mut Client, path: &str, body: &str, names: &[String]) -> Result<Filtered> {
    let reply = ask(client, path, body)?;
    let error = reply["Error"].as_str().context("a reply without Error")?;
    ensure!(error.is_empty(), "the decision failed: {error}");
    let items = reply["Nodes"]["items"].as_array().into_iter().flatten().map(|node| &node["metadata"]["name"]);
    let kept = reply["NodeNames"].as_array().into_iter().flatten().chain(items);
    let kept: Vec<String> = kept.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let failed = [&reply["FailedNodes"], &reply["FailedAndUnresolvableNodes"]];
    let entries = failed.into_iter().filter_map(Value::as_object).flatten();
    let refused: BTreeSet<(String, String)> =
        entries.map(|(name, reason)| (name.clone(), reason.as_str().unwrap_or_default().to_owned())).collect();
    let mut seen: Vec<&String> = kept.iter().chain(refused.iter().map(|(name, _)| name)).collect();
    seen.sort_unstable();
    let mut wanted: Vec<&String> = names.iter().collect();
    wanted.sort_unstable();
    ensure!(seen == wanted, "of {} nodes {} are in the reply, or others", wanted.len(), seen.len());
    let has_policy =
        |reason: &str| reason.split_once(": ").is_some_and(|(policy, text)| !policy.is_empty() && !text.is_empty());
    ensure!(refused.iter().all(|(_, reason)| has_policy(reason)), "a reason without a policy: {refused:?}");
    Ok(Filtered { kept, refused })
}

/// Asks for scores: one from 0 to 10 for each node, in order.
pub(super) fn prioritize(client: &mut Client, body: &str, names: &[String]) -> Result<Vec<i64>> {
    let reply = ask(client, "/prioritize", body)?;
    let list = reply.as_array().context("the scores are no list")?;
    let hosts: Vec<&str> = list.iter().filter_map(|entry| entry["Host"].as_str()).collect();
    ensure!(hosts == names, "scores of other nodes: {} of {}", hosts.len(), names.len());
    let scores: Vec<i64> = list.iter().filter_map(|entry| entry["Score"].as_i64()).collect();
    ensure!(scores.len() == names.len() && scores.iter().all(|score| (0..=10).contains(score)), "scores {scores:?}");
    Ok(scores)
}
