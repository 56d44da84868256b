//! `ExtenderArgs` as schedulers write them, read without serde.
//!
//! It accepts a subset of serde's input with the same result; it returns `None` for unusual and for wrong requests.
//! A list is read by prediction: each element is compared with the predicted next one, and looked up only if it differs.

use std::ops::Range;

use bytes::Bytes;
use plimsoll_core::{KnownNodes, Nodes};
use serde_json::{Deserializer, value::RawValue};

use super::{
    args::{ExtenderArgs, FIELDS, ITEMS},
    fold::MAX_ELEMENTS,
    nodes::{Elements, WireNodes},
};
use crate::request_cache::{KnownNodeOrder, NameIndex, SuccessorTable};

/// The number of successors that are tried per element. A scheduler leaves out the nodes that a filter has rejected.
const TRIES: usize = 4;

/// Few names with their quotes are shorter; a list of those grows while it is read.
const USUAL_BYTES: usize = 16;

/// The fields of the wrapper that were read so far.
#[derive(Default)]
struct PartialArgs {
    pod: Option<Range<usize>>,
    /// The whole nodes, and those that were known.
    whole: Option<(Elements, KnownNodes)>,
    names: Elements,
}

/// A cursor over a request's body. `None` does not mean invalid: serde must read the body.
struct Cursor<'b> {
    body: &'b [u8],
    at: usize,
}

/// The known elements of a list, by slot.
trait KnownElements {
    /// The order in which the elements came before (a successor table).
    fn order(&self) -> &SuccessorTable;

    /// The bytes of an element as it came before; empty if no prediction is possible.
    fn bytes(&self, slot: u32) -> &[u8];

    /// Reads and looks up an element that was mispredicted. `None` if serde must read it.
    fn search(&self, cursor: &mut Cursor<'_>) -> Option<ElementMatch>;
}

/// The result of looking up an element.
#[derive(Debug, Clone, Copy)]
enum ElementMatch {
    /// The known element of this slot, unchanged.
    Known(u32),
    /// The element of this slot, with other content.
    Changed(u32),
    Unknown,
}

/// Reads a request: names are looked up among those of a cluster, whole nodes among those that are known. `known` is
/// called only if there are whole nodes.
pub(super) fn args(body: &Bytes, names: &NameIndex, known: &impl Fn() -> KnownNodeOrder) -> Option<ExtenderArgs> {
    let (mut cursor, mut parts) = (Cursor { body, at: 0 }, PartialArgs::default());
    cursor.fields(|cursor, key| {
        // The last of several equal fields wins.
        match FIELDS.iter().position(|field| field.eq_ignore_ascii_case(key)) {
            Some(0) if cursor.null().is_some() => return None,
            Some(0) => parts.pod = Some(cursor.value()?),
            Some(1) if cursor.null().is_some() => parts.whole = None,
            Some(1) => parts.whole = Some(node_list(cursor, known())?),
            Some(_) if cursor.null().is_some() => parts.names = Elements::default(),
            Some(_) => parts.names = list(cursor, names)?,
            None => {
                cursor.value()?;
            }
        }
        Some(())
    })?;
    if cursor.peek().is_some() {
        return None;
    }
    let nodes = match parts.whole {
        Some((nodes, known)) => WireNodes::by_prediction(body, nodes, &known),
        None => WireNodes::by_name(body, parts.names),
    };
    Some(ExtenderArgs { pod: body.slice(parts.pod?), nodes })
}

/// Reads a `NodeList`: its items, and the nodes that they were compared with.
fn node_list(cursor: &mut Cursor<'_>, known: KnownNodeOrder) -> Option<(Elements, KnownNodes)> {
    let mut items = Elements::default();
    cursor.fields(|cursor, key| {
        if ITEMS.eq_ignore_ascii_case(key) {
            items = list(cursor, &known)?;
        } else {
            cursor.value()?;
        }
        Some(())
    })?;
    Some((items, known.nodes))
}

/// Reads a list; none if serde must read it.
fn list(cursor: &mut Cursor<'_>, known: &impl KnownElements) -> Option<Elements> {
    cursor.eat(b'[')?;
    if cursor.eat(b']').is_some() {
        return Some(Elements::default());
    }
    // A short request must not pay for a large cluster.
    let most = known.order().len().min((cursor.body.len() - cursor.at) / USUAL_BYTES);
    let (mut ranges, mut slots) = (Vec::with_capacity(most), Vec::with_capacity(most));
    let (mut before, mut tries) = (None, TRIES);
    loop {
        cursor.peek()?;
        if ranges.len() == MAX_ELEMENTS {
            return None;
        }
        let start = cursor.at;
        // After a misprediction the order is probably new: try one successor only.
        let found = if let Some((slot, bytes)) = expected(known, before, tries, &cursor.body[start..]) {
            (cursor.at, tries) = (start + bytes, TRIES);
            ElementMatch::Known(slot)
        } else {
            tries = 1;
            mispredicted(known, before, cursor)?
        };
        ranges.push(start..cursor.at);
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

// === impl Cursor ===

impl<'b> Cursor<'b> {
    /// Skips whitespace and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.body.get(self.at) {
            self.at += 1;
        }
        self.body.get(self.at).copied()
    }

    /// Consumes this byte, if it comes next.
    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// The next string, if it has no escapes.
    fn text(&mut self) -> Option<&'b str> {
        self.eat(b'"')?;
        let rest = &self.body[self.at..];
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        // Whitespace is not skipped here: a tab within quotes is an error.
        if rest[length] != b'"' {
            return None;
        }
        self.at += length + 1;
        std::str::from_utf8(&rest[..length]).ok()
    }

    /// Reads an object; `field` reads the value of each key.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        loop {
            let key = self.text()?;
            self.eat(b':')?;
            field(self, key)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    /// Consumes a null.
    fn null(&mut self) -> Option<()> {
        self.peek()?;
        self.body[self.at..].starts_with(b"null").then(|| self.at += 4)
    }

    /// The text of the next value of any type.
    fn value_text(&mut self) -> Option<&'b [u8]> {
        let body = self.body;
        self.value().map(|place| &body[place])
    }

    /// The range of the next value of any type.
    fn value(&mut self) -> Option<Range<usize>> {
        let mut values = Deserializer::from_slice(&self.body[self.at..]).into_iter::<&RawValue>();
        let length = values.next()?.ok()?.get().len();
        self.at += values.byte_offset();
        Some(self.at - length..self.at)
    }
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

impl KnownElements for NameIndex {
    fn order(&self) -> &SuccessorTable {
        &self.order
    }

    fn bytes(&self, slot: u32) -> &[u8] {
        self.quoted(slot)
    }

    fn search(&self, cursor: &mut Cursor<'_>) -> Option<ElementMatch> {
        Some(self.names().find(cursor.text()?).map_or(ElementMatch::Unknown, ElementMatch::Known))
    }
}

impl KnownElements for KnownNodeOrder {
    fn order(&self) -> &SuccessorTable {
        &self.index.order
    }

    fn bytes(&self, slot: u32) -> &[u8] {
        self.nodes.node(slot).map_or(&[], |node| node.json())
    }

    fn search(&self, cursor: &mut Cursor<'_>) -> Option<ElementMatch> {
        let json = cursor.value_text()?;
        let Some(slot) = self.nodes.find(json) else { return Some(ElementMatch::Unknown) };
        Some(if self.bytes(slot) == json { ElementMatch::Known(slot) } else { ElementMatch::Changed(slot) })
    }
}
