//! A list read by guessing: an element is compared with what is expected next, and searched for only if it differs.

use plimsoll_core::{Elements, Nodes, Order};

use super::{MAX_ELEMENTS, cursor::Cursor};

/// So many are tried of those that are expected: a scheduler leaves out the nodes that a filter has refused.
const TRIES: usize = 4;

/// What the elements of a list may be, by slot.
pub(super) trait KnownElements {
    /// In which order they came before.
    fn order(&self) -> &Order;

    /// An element as it came before; empty if it is not expected to come like that.
    fn bytes(&self, slot: u32) -> &[u8];

    /// Goes over an element that was not expected; none if serde must read it.
    fn search(&self, cursor: &mut Cursor<'_>) -> Option<ElementMatch>;
}

/// What an element is that was not expected.
#[derive(Debug, Clone, Copy)]
pub(super) enum ElementMatch {
    /// The one of this slot.
    Known(u32),
    /// What has come in the place of the one of this slot.
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
    let most = known.order().len();
    let (mut places, mut slots) = (Vec::with_capacity(most), Vec::with_capacity(most));
    let (mut before, mut tries) = (None, TRIES);
    loop {
        cursor.peek()?;
        if places.len() == MAX_ELEMENTS {
            return None;
        }
        let start = cursor.at();
        let expected = expected(known, before, tries, cursor.rest());
        // In an order that was never seen one surprise follows another.
        tries = if expected.is_some() { TRIES } else { 1 };
        let found = match expected {
            Some((slot, bytes)) => {
                cursor.skip(bytes);
                ElementMatch::Known(slot)
            }
            None => mispredicted(known, before, cursor)?,
        };
        places.push(start - list..cursor.at() - list);
        slots.push(found.slot());
        before = found.place().or(before);
        if cursor.eat(b',').is_none() {
            cursor.eat(b']')?;
            return Some(Elements { places, slots: slots.into() });
        }
    }
}

/// The slot of the next element and its bytes, if it is one that is expected after the one before.
fn expected(known: &impl KnownElements, before: Option<u32>, tries: usize, rest: &[u8]) -> Option<(u32, usize)> {
    let order = known.order();
    let mut slot = order.after(before)?;
    for _ in 0..tries {
        let bytes = known.bytes(slot);
        // The bytes are a whole value of JSON, so that whatever follows them belongs to the list.
        if !bytes.is_empty() && rest.starts_with(bytes) {
            return Some((slot, bytes.len()));
        }
        slot = order.after(Some(slot))?;
    }
    None
}

/// Goes over an element that was not expected, and expects it after the one before from now on.
fn mispredicted(known: &impl KnownElements, before: Option<u32>, cursor: &mut Cursor<'_>) -> Option<ElementMatch> {
    let found = known.search(cursor)?;
    if let Some(slot) = found.place() {
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

    /// The slot after which the next element is expected.
    fn place(self) -> Option<u32> {
        match self {
            Self::Known(slot) | Self::Changed(slot) => Some(slot),
            Self::Unknown => None,
        }
    }
}
