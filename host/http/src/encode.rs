//! Writes replies exactly as kube-scheduler's Go types read them.

use std::{borrow::Cow, ops::Range};

use plimsoll_core::{CandidateQuery, FilterOutcome, PreemptOutcome, Rejection};
use serde::{Deserialize, Serialize};

use crate::{
    decode::{JsonString, WireNodes},
    request_cache::NameIndex,
};

/// Bytes that the name of most nodes needs.
const OTHER_NAME_SIZE: usize = 48;

/// Bytes that most entries of a `HostPriorityList` need.
const ENTRY_SIZE: usize = 64;

/// An `ExtenderFilterResult`: every node is kept, failed or unresolvable.
///
/// Kept nodes are taken from the request: whole objects must be byte for byte the same, since they replace the
/// scheduler's own. `names` are those of the cluster.
///
/// A node that kube-scheduler's own filters accept, as they do each node of the request, is unresolvable whatever the
/// policy says: preemption finds no victim there, and would say so in an order that changes (docs/decisions/0077). The
/// node that preemption has chosen keeps its code, or it would choose again.
pub(crate) fn filter(nodes: &WireNodes, names: &NameIndex, outcome: &FilterOutcome) -> Vec<u8> {
    // Thousands of nodes share a few reasons, so each is encoded once and copied.
    let mut reasons = vec![Vec::new(); outcome.reasons.len()];
    reasons.iter_mut().zip(&outcome.reasons).for_each(|(json, reason)| push_json(json, &reason.to_string()));
    let longest = reasons.iter().map(Vec::len).max().unwrap_or_default();
    // Nearly all of the request's nodes come back, as names or whole.
    let others = outcome.others.len() * (longest + OTHER_NAME_SIZE);
    let mut out = Vec::with_capacity(256 + nodes.text().len() + outcome.rejected.len() * (longest + 2) + others);
    let (before, after): (&[u8], &[u8]) = if nodes.are_objects() {
        (b"{\"Nodes\":{\"metadata\":{},\"items\":[", b"]},\"NodeNames\":null")
    } else {
        (b"{\"Nodes\":null,\"NodeNames\":[", b"]")
    };
    out.extend_from_slice(before);
    for run in kept_runs(nodes.len(), outcome) {
        separate(&mut out);
        out.extend_from_slice(&nodes.text()[nodes.stretch(run)]);
    }
    out.extend_from_slice(after);
    let maps: [(&[u8], bool); 2] = [(b",\"FailedNodes\":{", false), (b",\"FailedAndUnresolvableNodes\":{", true)];
    for (key, unresolvable) in maps {
        out.extend_from_slice(key);
        let is_here = |rejection: &&Rejection| {
            unresolvable == (rejection.unresolvable || Some(rejection.node) != outcome.nominated)
        };
        for rejection in outcome.rejected.iter().filter(is_here) {
            separate(&mut out);
            push_name(&mut out, nodes, rejection.node as usize);
            out.push(b':');
            out.extend_from_slice(&reasons[rejection.reason as usize]);
        }
        for rejection in outcome.others.iter().filter(|rejection| rejection.unresolvable == unresolvable) {
            let name = names.quoted(rejection.node);
            if name.is_empty() {
                // Not a name of Kubernetes.
                continue;
            }
            separate(&mut out);
            out.extend_from_slice(name);
            out.push(b':');
            out.extend_from_slice(&reasons[rejection.reason as usize]);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"Error\":\"\"}");
    out
}

/// An `ExtenderFilterResult` that says why there is no decision.
pub(crate) fn filter_error(error: &str) -> Vec<u8> {
    let mut out =
        b"{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":".to_vec();
    push_json(&mut out, error);
    out.push(b'}');
    out
}

/// An `ExtenderBindingResult`, whose error is empty after a bind; also the body of errors of verbs that have no error
/// field.
pub(crate) fn error(error: &str) -> Vec<u8> {
    let mut out = b"{\"Error\":".to_vec();
    push_json(&mut out, error);
    out.push(b'}');
    out
}

/// A `HostPriorityList`.
pub(crate) fn prioritize(nodes: &WireNodes, scores: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + ENTRY_SIZE * nodes.len());
    out.push(b'[');
    for (at, score) in scores.iter().enumerate() {
        let before: &[u8] = if at == 0 { b"{\"Host\":" } else { b",{\"Host\":" };
        out.extend_from_slice(before);
        push_name(&mut out, nodes, at);
        push_score(&mut out, *score);
    }
    out.push(b']');
    out
}

/// The end of an entry. Most of thousands of scores have one digit, and are written in one go.
#[inline]
fn push_score(out: &mut Vec<u8>, score: u32) {
    let mut end = *b",\"Score\":0}";
    if let digit @ 0..=9 = score {
        end[9] += digit as u8;
        out.extend_from_slice(&end);
        return;
    }
    out.extend_from_slice(&end[..9]);
    push_json(out, &score);
    out.push(b'}');
}

/// An `ExtenderPreemptionResult`: UIDs in both modes, and never a null.
pub(crate) fn preempt(candidates: &[CandidateQuery<'_>], outcome: &PreemptOutcome) -> Vec<u8> {
    let victims: usize = outcome.kept.iter().map(|kept| kept.victims.len()).sum();
    let mut out = Vec::with_capacity(32 + outcome.kept.len() * 80 + victims * 48);
    out.extend_from_slice(b"{\"NodeNameToMetaVictims\":{");
    for kept in &outcome.kept {
        let Some(candidate) = candidates.get(kept.candidate as usize) else { continue };
        separate(&mut out);
        push_json(&mut out, &candidate.node);
        out.extend_from_slice(b":{\"Pods\":[");
        for uid in &kept.victims {
            separate(&mut out);
            out.extend_from_slice(b"{\"UID\":");
            push_json(&mut out, &**uid);
            out.push(b'}');
        }
        out.extend_from_slice(b"],\"NumPDBViolations\":");
        push_json(&mut out, &kept.pdb_violations);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}");
    out
}

/// The runs of kept nodes between the rejected ones, which are sorted by index.
fn kept_runs(nodes: usize, outcome: &FilterOutcome) -> impl Iterator<Item = Range<usize>> {
    let ends = outcome.rejected.iter().map(|rejection| rejection.node as usize).chain([nodes]);
    let run = |start: &mut usize, end: usize| Some(std::mem::replace(start, end + 1)..end);
    ends.scan(0, run).filter(|run| !run.is_empty())
}

/// The name of a node of the request.
#[inline]
fn push_name(out: &mut Vec<u8>, nodes: &WireNodes, at: usize) {
    if nodes.are_objects() {
        push_json(out, &object_name(nodes, at));
    } else {
        out.extend_from_slice(nodes.json(at));
    }
}

fn object_name(nodes: &WireNodes, at: usize) -> Cow<'_, str> {
    nodes.known_name(at).map_or_else(|| node_name(nodes.json(at)), Cow::Borrowed)
}

/// `metadata.name` of a Node's JSON; empty if it has none. Core has parsed the object before, so it is valid.
fn node_name(json: &[u8]) -> Cow<'_, str> {
    #[derive(Default, Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        name: JsonString<'a>,
    }
    #[derive(Default, Deserialize)]
    struct Node<'a> {
        #[serde(borrow, default)]
        metadata: Metadata<'a>,
    }
    serde_json::from_slice::<Node<'_>>(json).unwrap_or_default().metadata.name.0
}

/// Writes a text or a number.
fn push_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Neither writing to memory nor a text or a number can fail.
    let _ = serde_json::to_writer(out, value);
}

/// Writes a comma, except before the first element of a list or map.
#[inline]
fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'[' | b'{')) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests;
