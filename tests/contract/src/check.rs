//! Checks kube-scheduler's demands on a reply, field by field.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use serde_json::{Map, Value, value::RawValue};

use crate::client::Reply;

/// A filter reply, checked: every node of the request in exactly one place.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Nodes that stay, in the order of the reply.
    pub kept: Vec<String>,
    /// Nodes that preemption may help, with their reasons.
    pub failed: BTreeMap<String, String>,
    /// Nodes that it cannot help.
    pub unresolvable: BTreeMap<String, String>,
}

/// Checks the frame of a decision: status, length, type, and one JSON value with nothing around it.
pub fn frame(reply: &Reply) -> Result<Value> {
    ensure!(reply.status == 200, "status {}: {}", reply.status, reply.text());
    body(reply)
}

/// Checks what holds for every reply, errors too.
pub fn body(reply: &Reply) -> Result<Value> {
    let header = |name| reply.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ensure!(header("content-type") == "application/json", "Content-Type is {:?}", header("content-type"));
    ensure!(
        header("content-length") == reply.body.len().to_string(),
        "Content-Length is {:?}",
        header("content-length")
    );
    ensure!(!reply.body.is_empty(), "the body is empty");
    ensure!(!reply.body.ends_with(b"\n"), "the body ends with a newline");
    reply.json()
}

/// Checks an `ExtenderFilterResult` against its request.
pub fn filter(request: &[u8], reply: &Reply) -> Result<Filtered> {
    let (request, reply_json) = (serde_json::from_slice::<Value>(request)?, frame(reply)?);
    let reply_json = object(&reply_json)?;
    keys(reply_json, &["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"])?;
    ensure!(reply_json["Error"] == "", "Error is {}", reply_json["Error"]);
    let (asked, kept) = if request["Nodes"].is_null() {
        ensure!(reply_json["Nodes"].is_null(), "Nodes in a reply by name");
        (strings(&request["NodeNames"])?, strings(&reply_json["NodeNames"])?)
    } else {
        ensure!(reply_json["NodeNames"].is_null(), "NodeNames in a reply with objects");
        keys(object(&reply_json["Nodes"])?, &["metadata", "items"])?;
        (names(&request["Nodes"])?, names(&reply_json["Nodes"])?)
    };
    let filtered = Filtered {
        kept,
        failed: reasons(&reply_json["FailedNodes"])?,
        unresolvable: reasons(&reply_json["FailedAndUnresolvableNodes"])?,
    };
    let rejected = filtered.failed.keys().chain(filtered.unresolvable.keys());
    let mut answered: Vec<_> = filtered.kept.iter().chain(rejected).collect();
    let mut asked: Vec<_> = asked.iter().collect();
    ensure!(in_order(&filtered.kept, &asked), "the nodes that stay are not in the order of the request");
    answered.sort();
    asked.sort();
    ensure!(answered == asked, "asked about {asked:?}, answered {answered:?}");
    Ok(filtered)
}

/// Checks that each Node of a reply is, byte for byte, the one of the request.
pub fn echo(request: &Bytes, reply: &Bytes) -> Result<()> {
    let (sent, echoed) = (items(request)?, items(reply)?);
    for node in echoed {
        ensure!(sent.iter().any(|own| own.get() == node.get()), "not a Node of the request: {node}");
    }
    Ok(())
}

/// Checks a `HostPriorityList` against its request, and returns the scores by node.
pub fn prioritize(request: &[u8], reply: &Reply) -> Result<Vec<(String, i64)>> {
    let (request, reply) = (serde_json::from_slice::<Value>(request)?, frame(reply)?);
    let asked = if request["Nodes"].is_null() { strings(&request["NodeNames"])? } else { names(&request["Nodes"])? };
    let mut scores = Vec::new();
    for entry in reply.as_array().context("no list")? {
        keys(object(entry)?, &["Host", "Score"])?;
        let score = entry["Score"].as_i64().with_context(|| format!("Score is {}", entry["Score"]))?;
        ensure!((0..=10).contains(&score), "Score is {score}");
        scores.push((string(&entry["Host"])?, score));
    }
    ensure!(scores.iter().map(|(host, _)| host).eq(&asked), "asked about {asked:?}, answered {scores:?}");
    Ok(scores)
}

/// Checks an `ExtenderPreemptionResult` against its request, and returns the UIDs and violations by node.
pub fn preempt(request: &[u8], reply: &Reply) -> Result<BTreeMap<String, (Vec<String>, i64)>> {
    let (request, reply) = (serde_json::from_slice::<Value>(request)?, frame(reply)?);
    keys(object(&reply)?, &["NodeNameToMetaVictims"])?;
    let full = object(&request["NodeNameToVictims"]).or_else(|_| object(&request["NodeNameToMetaVictims"]))?;
    let mut kept = BTreeMap::new();
    for (node, victims) in object(&reply["NodeNameToMetaVictims"])? {
        ensure!(full.contains_key(node), "{node} was no candidate");
        keys(object(victims)?, &["Pods", "NumPDBViolations"])?;
        let mut uids = Vec::new();
        for pod in victims["Pods"].as_array().context("Pods is no list")? {
            keys(object(pod)?, &["UID"])?;
            uids.push(string(&pod["UID"])?);
        }
        let violations = victims["NumPDBViolations"].as_i64().context("NumPDBViolations is no integer")?;
        kept.insert(node.clone(), (uids, violations));
    }
    Ok(kept)
}

/// Checks that there is no decision, and why: with 200 where the reply has an error field.
pub fn refusal(verb: &str, reply: &Reply) -> Result<String> {
    let with_field = matches!(verb, "filter" | "bind");
    ensure!((reply.status == 200) == with_field, "status {} to {verb}", reply.status);
    let json = body(reply)?;
    if verb == "filter" {
        keys(object(&json)?, &["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"])?;
        ensure!(json["Nodes"].is_null() && json["NodeNames"].is_null(), "nodes beside an error");
    } else {
        keys(object(&json)?, &["Error"])?;
    }
    let error = string(&json["Error"])?;
    ensure!(!error.is_empty() && error.len() < 600, "Error is {error:?}");
    Ok(error)
}

fn items(list: &Bytes) -> Result<Vec<Box<RawValue>>> {
    let wrapper: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(list)?;
    let nodes = wrapper.get("Nodes").context("no Nodes")?;
    let mut list: BTreeMap<String, Box<RawValue>> = serde_json::from_str(nodes.get())?;
    Ok(serde_json::from_str(list.remove("items").context("no items")?.get())?)
}

fn names(list: &Value) -> Result<Vec<String>> {
    let items = list["items"].as_array().context("items is no list")?;
    items.iter().map(|node| string(&node["metadata"]["name"])).collect()
}

fn reasons(value: &Value) -> Result<BTreeMap<String, String>> {
    let reason = |(node, reason): (&String, &Value)| {
        let reason = string(reason)?;
        ensure!(!reason.is_empty() && !reason.contains(node.as_str()), "the reason of {node} is {reason:?}");
        Ok((node.clone(), reason))
    };
    object(value)?.iter().map(reason).collect()
}

fn strings(value: &Value) -> Result<Vec<String>> {
    value.as_array().with_context(|| format!("no list: {value}"))?.iter().map(string).collect()
}

fn string(value: &Value) -> Result<String> {
    Ok(value.as_str().with_context(|| format!("no string: {value}"))?.to_owned())
}

fn object(value: &Value) -> Result<&Map<String, Value>> {
    value.as_object().with_context(|| format!("no object: {value}"))
}

fn keys(object: &Map<String, Value>, expected: &[&str]) -> Result<()> {
    if object.len() != expected.len() || !expected.iter().all(|key| object.contains_key(*key)) {
        bail!("keys are {:?}, not {expected:?}", object.keys().collect::<Vec<_>>());
    }
    Ok(())
}

fn in_order(part: &[String], whole: &[&String]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|item| whole.any(|other| *other == item))
}
