//! The rejected nodes of a filter's reply, each with its reason.

use std::ops::Range;

use plimsoll_core::{FilterOutcome, Rejection};

use super::name::push_name;
use crate::{
    decode::WireNodes,
    text::{push_text, separate},
};

/// The two maps of a reply. Thousands of nodes share a few reasons, so each reason is encoded once and copied.
pub(super) struct Rejected<'r> {
    nodes: &'r WireNodes,
    rejections: &'r [Rejection],
    /// Every reason as JSON, concatenated.
    reasons: Vec<u8>,
    /// Where each reason ends.
    ends: Vec<usize>,
}

// === impl Rejected ===

impl<'r> Rejected<'r> {
    pub(super) fn new(nodes: &'r WireNodes, outcome: &'r FilterOutcome) -> Self {
        let (mut reasons, mut ends) = (Vec::new(), Vec::with_capacity(outcome.reasons.len()));
        for reason in &outcome.reasons {
            push_text(&mut reasons, reason);
            ends.push(reasons.len());
        }
        Self { nodes, rejections: &outcome.rejected, reasons, ends }
    }

    /// An upper bound of the bytes of both maps, without the names.
    pub(super) fn size(&self) -> usize {
        let longest = (0..self.ends.len()).map(|number| self.reason(number as u32).len()).max().unwrap_or_default();
        4 + self.rejections.len() * (longest + 2)
    }

    /// Writes one of the maps.
    pub(super) fn push(&self, out: &mut Vec<u8>, unresolvable: bool) {
        out.push(b'{');
        for rejection in self.rejections.iter().filter(|rejection| rejection.unresolvable == unresolvable) {
            separate(out);
            push_name(out, self.nodes, rejection.node as usize);
            out.push(b':');
            out.extend_from_slice(&self.reasons[self.reason(rejection.reason)]);
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
