//! Reads a list by prediction: each element is compared with the predicted next one, and looked up only if it differs.

use plimsoll_core::Nodes;

use super::{bounds::MAX_ELEMENTS, cursor::Cursor};
use crate::request_cache::{Elements, SuccessorTable};

/// The number of successors that are tried per element. A scheduler leaves out the nodes that a filter has rejected.
const TRIES: usize = 4;

/// Few names with their quotes are shorter; a list of those grows while it is read.
const USUAL_BYTES: usize = 16;

/// The known elements of a list, by slot.
pub(super) trait KnownElements {
    /// The order in which the elements came before (a successor table).
    fn order(&self) -> &SuccessorTable;

    /// The bytes of an element as it came before; empty if no prediction is possible.
    fn bytes(&self, slot: u32) -> &[u8];

    /// Reads and looks up an element that was mispredicted. `None` if serde must read it.
    fn search(&self, cursor: &mut Cursor<'_>) -> Option<ElementMatch>;
}

/// The result of looking up an element.
#[derive(Debug, Clone, Copy)]
pub(super) enum ElementMatch {
    /// The known element of this slot, unchanged.
    Known(u32),
    /// The element of this slot, with other content.
    Changed(u32),
    Unknown,
}

/// Reads a list; none if serde must read it.
pub(super) fn list(cursor: &mut Cursor<'_>, known: &impl KnownElements) -> Option<Elements> {
    cursor.peek()?;
    let list = cursor.at();
    cursor.eat(b'[')?;
    if cursor.eat(b']').is_some() {
        return Some(Elements::default());
    }
    // A short request must not pay for a large cluster.
    let most = known.order().len().min(cursor.rest().len() / USUAL_BYTES);
    let (mut ranges, mut slots) = (Vec::with_capacity(most), Vec::with_capacity(most));
    let (mut before, mut tries) = (None, TRIES);
    loop {
        cursor.peek()?;
        if ranges.len() == MAX_ELEMENTS {
            return None;
        }
        let start = cursor.at();
        let expected = expected(known, before, tries, cursor.rest());
        // After a misprediction the order is probably new: try one successor only.
        tries = if expected.is_some() { TRIES } else { 1 };
        let found = match expected {
            Some((slot, bytes)) => {
                cursor.skip(bytes);
                ElementMatch::Known(slot)
            }
            None => mispredicted(known, before, cursor)?,
        };
        ranges.push(start - list..cursor.at() - list);
        slots.push(found.slot());
        before = found.predicting_slot().or(before);
        if cursor.eat(b',').is_none() {
            cursor.eat(b']')?;
            return Some(Elements { ranges, slots: slots.into() });
        }
    }
}

/// The slot and length of the next element, if one of the predicted successors matches.
fn expected(known: &impl KnownElements, before: Option<u32>, tries: usize, rest: &[u8]) -> Option<(u32, usize)> {
    let order = known.order();
    let mut slot = order.after(before)?;
    for _ in 0..tries {
        let bytes = known.bytes(slot);
        // The bytes are a whole JSON value, so a prefix match is a match of the element.
        if !bytes.is_empty() && rest.starts_with(bytes) {
            return Some((slot, bytes.len()));
        }
        slot = order.after(Some(slot))?;
    }
    None
}

/// Reads a mispredicted element, and records it as the new successor of the previous one.
fn mispredicted(known: &impl KnownElements, before: Option<u32>, cursor: &mut Cursor<'_>) -> Option<ElementMatch> {
    let found = known.search(cursor)?;
    if let Some(slot) = found.predicting_slot() {
        known.order().learn(before, slot);
    }
    Some(found)
}

// === impl ElementMatch ===

impl ElementMatch {
    /// The slot of the element, or [`Nodes::UNKNOWN`].
    fn slot(self) -> u32 {
        if let Self::Known(slot) = self { slot } else { Nodes::UNKNOWN }
    }

    /// The slot whose successor is predicted next.
    fn predicting_slot(self) -> Option<u32> {
        match self {
            Self::Known(slot) | Self::Changed(slot) => Some(slot),
            Self::Unknown => None,
        }
    }
}
