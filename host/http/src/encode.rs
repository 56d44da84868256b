//! Writes replies, each into one buffer, exactly as kube-scheduler's Go types read them.

mod name;
mod text;

use std::borrow::Cow;

use plimsoll_core::{CandidateQuery, FilterOutcome, PreemptOutcome, PrioritizeOutcome};

use self::{
    name::node_name,
    text::{push_integer, push_text},
};
use crate::decode::WireNodes;

/// An `ExtenderFilterResult`: every node is kept, failed or unresolvable.
pub(crate) fn filter(nodes: &WireNodes<'_>, outcome: &FilterOutcome) -> Vec<u8> {
    let mut out = Vec::with_capacity(filter_size(nodes, outcome));
    match nodes {
        WireNodes::Names(names) => {
            out.extend_from_slice(b"{\"Nodes\":null,\"NodeNames\":[");
            push_kept(&mut out, names, outcome, |out, name| push_text(out, name));
            out.push(b']');
        }
        WireNodes::Objects(objects) => {
            out.extend_from_slice(b"{\"Nodes\":{\"metadata\":{},\"items\":[");
            // Byte for byte: the object that we answer replaces the scheduler's own downstream.
            push_kept(&mut out, objects, outcome, |out, object| out.extend_from_slice(object));
            out.extend_from_slice(b"]},\"NodeNames\":null");
        }
    }
    out.extend_from_slice(b",\"FailedNodes\":");
    push_rejected(&mut out, nodes, outcome, false);
    out.extend_from_slice(b",\"FailedAndUnresolvableNodes\":");
    push_rejected(&mut out, nodes, outcome, true);
    out.extend_from_slice(b",\"Error\":\"\"}");
    out
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

/// Writes the nodes that are not among the rejected, which come by ascending index.
fn push_kept<T>(out: &mut Vec<u8>, nodes: &[T], outcome: &FilterOutcome, push: impl Fn(&mut Vec<u8>, &T)) {
    let mut rejected = outcome.rejected.iter().map(|rejection| rejection.node as usize).peekable();
    for (at, node) in nodes.iter().enumerate() {
        if rejected.next_if_eq(&at).is_none() {
            separate(out);
            push(out, node);
        }
    }
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

/// About the size of the reply, so that the buffer need not grow.
fn filter_size(nodes: &WireNodes<'_>, outcome: &FilterOutcome) -> usize {
    let kept = match nodes {
        WireNodes::Names(names) => names.iter().map(|name| name.len() + 3).sum::<usize>(),
        WireNodes::Objects(objects) => {
            let all: usize = objects.iter().map(|object| object.len() + 1).sum();
            let gone = outcome.rejected.iter().filter_map(|rejection| objects.get(rejection.node as usize));
            all - gone.map(|object| object.len() + 1).sum::<usize>().min(all)
        }
    };
    256 + kept + outcome.rejected.len() * 96
}

#[cfg(test)]
mod tests;
