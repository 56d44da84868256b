//! Writes replies exactly as kube-scheduler's Go types read them.

mod name;
mod rejected;

use std::ops::Range;

use plimsoll_core::{CandidateQuery, FilterOutcome, PreemptOutcome, PrioritizeOutcome};

use self::{name::push_name, rejected::Rejected};
use crate::{
    decode::WireNodes,
    reply::{ReplyBytes, ReplyWriter},
    text::{push_integer, push_text, separate},
};

/// An `ExtenderFilterResult`: every node is kept, failed or unresolvable.
///
/// Kept nodes are taken from the request: whole objects must be byte for byte the same, since they replace the
/// scheduler's own.
///
/// # Errors
/// If `reserve` refuses the memory for the reply.
pub(crate) fn filter<E>(
    nodes: &WireNodes,
    outcome: &FilterOutcome,
    reserve: impl FnOnce(usize) -> Result<(), E>,
) -> Result<ReplyBytes, E> {
    let rejected = Rejected::new(nodes, outcome);
    let kept = || kept_runs(nodes.len(), outcome).map(|run| nodes.stretch(run));
    // Each name is in the reply once, kept or rejected, so one estimate for all is enough.
    let (objects, names) = if nodes.are_objects() {
        (kept().map(|part| ReplyWriter::copied(part.len()) + 1).sum(), outcome.rejected.len())
    } else {
        (0, nodes.len())
    };
    let size = 256 + objects + nodes.name_bytes(names) + rejected.size();
    reserve(size)?;
    let mut out = ReplyWriter::with_capacity(size);
    let (before, after): (&[u8], &[u8]) = if nodes.are_objects() {
        (b"{\"Nodes\":{\"metadata\":{},\"items\":[", b"]},\"NodeNames\":null")
    } else {
        (b"{\"Nodes\":null,\"NodeNames\":[", b"]")
    };
    out.text.extend_from_slice(before);
    for (at, part) in kept().enumerate() {
        if at > 0 {
            out.text.push(b',');
        }
        if nodes.are_objects() {
            out.push(nodes.text().slice(part));
        } else {
            out.text.extend_from_slice(&nodes.text()[part]);
        }
    }
    out.text.extend_from_slice(after);
    out.text.extend_from_slice(b",\"FailedNodes\":");
    rejected.push(&mut out.text, false);
    out.text.extend_from_slice(b",\"FailedAndUnresolvableNodes\":");
    rejected.push(&mut out.text, true);
    out.text.extend_from_slice(b",\"Error\":\"\"}");
    Ok(out.finish())
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

/// An `ExtenderBindingResult`; also the body of errors of verbs that have no error field.
pub(crate) fn error(error: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 + error.len());
    out.extend_from_slice(b"{\"Error\":");
    push_text(&mut out, error);
    out.push(b'}');
    out
}

/// A `HostPriorityList`.
///
/// # Errors
/// As for [`filter`].
pub(crate) fn prioritize<E>(
    nodes: &WireNodes,
    outcome: &PrioritizeOutcome,
    reserve: impl FnOnce(usize) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let most = outcome.scores.iter().max().and_then(|score| score.checked_ilog10()).unwrap_or(0) as usize + 1;
    let entry = "{\"Host\":,\"Score\":},".len() + most.max(2);
    let size = 2 + entry * nodes.len() + nodes.name_bytes(nodes.len());
    reserve(size)?;
    let mut out = Vec::with_capacity(size);
    out.push(b'[');
    for (at, score) in outcome.scores.iter().enumerate() {
        let before: &[u8] = if at == 0 { b"{\"Host\":" } else { b",{\"Host\":" };
        out.extend_from_slice(before);
        push_name(&mut out, nodes, at);
        push_score(&mut out, *score);
    }
    out.push(b']');
    Ok(out)
}

/// The end of an entry. Most of thousands of scores have one digit: these are written in one go.
#[inline]
fn push_score(out: &mut Vec<u8>, score: u32) {
    let mut end = *b",\"Score\":0}";
    if let digit @ 0..=9 = score {
        end[9] += digit as u8;
        out.extend_from_slice(&end);
        return;
    }
    out.extend_from_slice(&end[..9]);
    push_integer(out, i64::from(score));
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

/// The runs of kept nodes between the rejected ones, which are sorted by index.
fn kept_runs(nodes: usize, outcome: &FilterOutcome) -> impl Iterator<Item = Range<usize>> {
    let ends = outcome.rejected.iter().map(|rejection| rejection.node as usize).chain([nodes]);
    let run = |start: &mut usize, end: usize| Some(std::mem::replace(start, end + 1)..end);
    ends.scan(0, run).filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests;
