//! Writes replies exactly as kube-scheduler's Go types read them.

use std::{borrow::Cow, ops::Range};

use plimsoll_core::{CandidateQuery, FilterOutcome, PreemptOutcome, PrioritizeOutcome};
use serde::Deserialize;

use crate::decode::{JsonString, WireNodes};

/// The reasons of a filter's reply as JSON. Thousands of nodes share a few, so each is encoded once and copied.
struct Reasons {
    text: Vec<u8>,
    /// Where each reason ends.
    ends: Vec<usize>,
}

/// An `ExtenderFilterResult`: every node is kept, failed or unresolvable.
///
/// Kept nodes are taken from the request: whole objects must be byte for byte the same, since they replace the
/// scheduler's own.
pub(crate) fn filter(nodes: &WireNodes, outcome: &FilterOutcome) -> Vec<u8> {
    let reasons = Reasons::new(outcome);
    let kept = || kept_runs(nodes.len(), outcome).map(|run| nodes.stretch(run));
    // Each name is in the reply once, kept or rejected, so one estimate for all is enough.
    let size = 256
        + if nodes.are_objects() {
            kept().map(|part| part.len() + 1).sum::<usize>() + nodes.name_bytes(outcome.rejected.len())
        } else {
            nodes.name_bytes(nodes.len())
        };
    let mut out = Vec::with_capacity(size + reasons.size(outcome));
    let (before, after): (&[u8], &[u8]) = if nodes.are_objects() {
        (b"{\"Nodes\":{\"metadata\":{},\"items\":[", b"]},\"NodeNames\":null")
    } else {
        (b"{\"Nodes\":null,\"NodeNames\":[", b"]")
    };
    out.extend_from_slice(before);
    for (at, part) in kept().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&nodes.text()[part]);
    }
    out.extend_from_slice(after);
    out.extend_from_slice(b",\"FailedNodes\":");
    reasons.push_rejected(&mut out, nodes, outcome, false);
    out.extend_from_slice(b",\"FailedAndUnresolvableNodes\":");
    reasons.push_rejected(&mut out, nodes, outcome, true);
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
pub(crate) fn prioritize(nodes: &WireNodes, outcome: &PrioritizeOutcome) -> Vec<u8> {
    let most = outcome.scores.iter().max().and_then(|score| score.checked_ilog10()).unwrap_or(0) as usize + 1;
    let entry = "{\"Host\":,\"Score\":},".len() + most;
    let mut out = Vec::with_capacity(2 + entry * nodes.len() + nodes.name_bytes(nodes.len()));
    out.push(b'[');
    for (at, score) in outcome.scores.iter().enumerate() {
        let before: &[u8] = if at == 0 { b"{\"Host\":" } else { b",{\"Host\":" };
        out.extend_from_slice(before);
        push_name(&mut out, nodes, at);
        push_score(&mut out, *score);
    }
    out.push(b']');
    out
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

/// The name of a node of the request.
#[inline]
fn push_name(out: &mut Vec<u8>, nodes: &WireNodes, at: usize) {
    if nodes.are_objects() {
        push_text(out, &nodes.known_name(at).map_or_else(|| node_name(nodes.json(at)), Cow::Borrowed));
    } else {
        out.extend_from_slice(nodes.json(at));
    }
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

/// Writes a JSON string: quotes, backslashes and control characters are escaped, all else stays.
fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    // Branchless, so that the compiler vectorizes it; almost no name needs an escape.
    if rest.iter().fold(false, |any, byte| any | needs_escape(*byte)) {
        while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
            out.extend_from_slice(&rest[..at]);
            push_escape(out, rest[at]);
            rest = &rest[at + 1..];
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Writes a bare integer; Go refuses `5.0` and `1e1` for an `int64`.
fn push_integer(out: &mut Vec<u8>, number: i64) {
    match u8::try_from(number) {
        Ok(digit @ 0..=9) => out.push(b'0' + digit),
        _ => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Writes a comma, except before the first element of a list or map.
#[inline]
fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'[' | b'{')) {
        out.push(b',');
    }
}

const fn needs_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20)
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

// === impl Reasons ===

impl Reasons {
    fn new(outcome: &FilterOutcome) -> Self {
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(outcome.reasons.len()));
        for reason in &outcome.reasons {
            push_text(&mut text, reason);
            ends.push(text.len());
        }
        Self { text, ends }
    }

    /// An upper bound of the bytes of the rejected nodes, without their names.
    fn size(&self, outcome: &FilterOutcome) -> usize {
        let longest = (0..self.ends.len()).map(|number| self.reason(number as u32).len()).max().unwrap_or_default();
        outcome.rejected.len() * (longest + 2)
    }

    /// Writes the map of rejected nodes that another pod's removal can help, or that of the others.
    fn push_rejected(&self, out: &mut Vec<u8>, nodes: &WireNodes, outcome: &FilterOutcome, unresolvable: bool) {
        out.push(b'{');
        for rejection in outcome.rejected.iter().filter(|rejection| rejection.unresolvable == unresolvable) {
            separate(out);
            push_name(out, nodes, rejection.node as usize);
            out.push(b':');
            out.extend_from_slice(&self.text[self.reason(rejection.reason)]);
        }
        out.push(b'}');
    }

    /// The range of a reason.
    fn reason(&self, number: u32) -> Range<usize> {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        start..self.ends[at]
    }
}

#[cfg(test)]
mod tests;
