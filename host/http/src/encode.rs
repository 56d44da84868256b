//! Writes replies exactly as kube-scheduler's Go types read them.

mod name;
mod pieces;
mod text;

use std::{borrow::Cow, ops::Range};

use bytes::Bytes;
use plimsoll_core::{CandidateQuery, FilterOutcome, PreemptOutcome, PrioritizeOutcome};

use self::{
    name::node_name,
    pieces::Pieces,
    text::{push_integer, push_text},
};
use crate::decode::WireNodes;

/// An `ExtenderFilterResult`: every node is kept, failed or unresolvable.
///
/// `body` is the request's, which objects are slices of.
pub(crate) fn filter(body: &Bytes, nodes: &WireNodes<'_>, outcome: &FilterOutcome) -> Vec<Bytes> {
    let mut out = Pieces::with_capacity(256 + outcome.rejected.len() * 96 + names_size(nodes));
    match nodes {
        WireNodes::Names(names) => {
            out.text.extend_from_slice(b"{\"Nodes\":null,\"NodeNames\":[");
            for run in kept_runs(names.len(), outcome) {
                for name in &names[run] {
                    separate(&mut out.text);
                    push_text(&mut out.text, name);
                }
            }
            out.text.push(b']');
        }
        WireNodes::Objects(objects) => {
            out.text.extend_from_slice(b"{\"Nodes\":{\"metadata\":{},\"items\":[");
            for (at, run) in kept_runs(objects.len(), outcome).enumerate() {
                if at > 0 {
                    out.text.push(b',');
                }
                out.push(stretch(body, &objects[run]));
            }
            out.text.extend_from_slice(b"]},\"NodeNames\":null");
        }
    }
    out.text.extend_from_slice(b",\"FailedNodes\":");
    push_rejected(&mut out.text, nodes, outcome, false);
    out.text.extend_from_slice(b",\"FailedAndUnresolvableNodes\":");
    push_rejected(&mut out.text, nodes, outcome, true);
    out.text.extend_from_slice(b",\"Error\":\"\"}");
    out.finish()
}

/// An `ExtenderFilterResult` that says why there is no decision.
pub(crate) fn filter_error(error: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + error.len());
    out.extend_from_slice(
        b"{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{},\"FailedAndUnresolvableNodes\":{},\"Error\":",
    );
    push_text(&mut out, error);
    out.push(b'}');
    out
}

/// An `ExtenderBindingResult` without an error.
pub(crate) fn bound() -> Vec<u8> {
    error("")
}

/// An `ExtenderBindingResult`, and what verbs without an error field answer beside their status.
pub(crate) fn error(error: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + error.len());
    out.extend_from_slice(b"{\"Error\":");
    push_text(&mut out, error);
    out.push(b'}');
    out
}

/// A `HostPriorityList`.
pub(crate) fn prioritize(nodes: &WireNodes<'_>, outcome: &PrioritizeOutcome) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + nodes.len() * 64);
    out.push(b'[');
    for (at, score) in outcome.scores.iter().enumerate() {
        separate(&mut out);
        out.extend_from_slice(b"{\"Host\":");
        push_text(&mut out, &name_of(nodes, at));
        out.extend_from_slice(b",\"Score\":");
        push_integer(&mut out, i64::from(*score));
        out.push(b'}');
    }
    out.push(b']');
    out
}

/// An `ExtenderPreemptionResult`: UIDs in both modes, and never a null.
pub(crate) fn preempt(candidates: &[CandidateQuery<'_>], outcome: &PreemptOutcome) -> Vec<u8> {
    let victims: usize = outcome.kept.iter().map(|kept| kept.victims.len()).sum();
    let mut out = Vec::with_capacity(32 + outcome.kept.len() * 80 + victims * 48);
    out.extend_from_slice(b"{\"NodeNameToMetaVictims\":{");
    for kept in &outcome.kept {
        let Some(candidate) = candidates.get(kept.candidate as usize) else { continue };
        separate(&mut out);
        push_text(&mut out, &candidate.node);
        out.extend_from_slice(b":{\"Pods\":[");
        for uid in &kept.victims {
            separate(&mut out);
            out.extend_from_slice(b"{\"UID\":");
            push_text(&mut out, uid);
            out.push(b'}');
        }
        out.extend_from_slice(b"],\"NumPDBViolations\":");
        push_integer(&mut out, kept.pdb_violations);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}");
    out
}

/// The stretches of nodes that stay, between the rejected, which come by ascending index.
fn kept_runs(nodes: usize, outcome: &FilterOutcome) -> impl Iterator<Item = Range<usize>> {
    let ends = outcome.rejected.iter().map(|rejection| rejection.node as usize).chain([nodes]);
    let run = |start: &mut usize, end: usize| Some(std::mem::replace(start, end + 1)..end);
    ends.scan(0, run).filter(|run| !run.is_empty())
}

/// Neighbours in the request's list, with the commas between them, as one slice of its body.
///
/// Byte for byte: the objects that we answer replace the scheduler's own downstream.
fn stretch(body: &Bytes, objects: &[Bytes]) -> Bytes {
    let (Some(first), Some(last)) = (objects.first(), objects.last()) else { return Bytes::new() };
    let offset = |object: &Bytes| object.as_ptr() as usize - body.as_ptr() as usize;
    body.slice(offset(first)..offset(last) + last.len())
}

fn push_rejected(out: &mut Vec<u8>, nodes: &WireNodes<'_>, outcome: &FilterOutcome, unresolvable: bool) {
    out.push(b'{');
    for rejection in outcome.rejected.iter().filter(|rejection| rejection.unresolvable == unresolvable) {
        separate(out);
        push_text(out, &name_of(nodes, rejection.node as usize));
        out.push(b':');
        push_text(out, outcome.reason(*rejection));
    }
    out.push(b'}');
}

/// A comma, unless nothing stands before it in its list or map.
fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'[' | b'{')) {
        out.push(b',');
    }
}

fn name_of<'n>(nodes: &'n WireNodes<'_>, at: usize) -> Cow<'n, str> {
    match nodes {
        WireNodes::Names(names) => Cow::Borrowed(names.get(at).map_or("", |name| name)),
        WireNodes::Objects(objects) => objects.get(at).map_or(Cow::Borrowed(""), |object| node_name(object)),
    }
}

/// The bytes of all names with what stands around them, so that the buffer need not grow.
fn names_size(nodes: &WireNodes<'_>) -> usize {
    match nodes {
        WireNodes::Names(names) => names.iter().map(|name| name.len() + 3).sum(),
        WireNodes::Objects(_) => 0,
    }
}

#[cfg(test)]
mod tests;
