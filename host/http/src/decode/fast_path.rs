//! `ExtenderArgs` as schedulers write them, read without serde.
//!
//! It accepts a subset of serde's input with the same result; it returns `None` for unusual and for wrong requests.
//! A list is read by prediction: each element is compared with the predicted next one, and looked up only if it differs.

use std::ops::Range;

use bytes::Bytes;
use plimsoll_core::{KnownNodes, Nodes};
use serde_json::{Deserializer, value::RawValue};

use super::nodes::{Elements, ExtenderArgs, WireNodes};
use crate::request_cache::{KnownNodeOrder, NameIndex, SuccessorTable};

const FIELDS: [&str; 3] = ["Pod", "Nodes", "NodeNames"];

/// The number of successors that are tried per element. A scheduler leaves out the nodes that a filter has rejected.
const TRIES: usize = 4;

/// Few names with their quotes are shorter; a list of those grows while it is read.
const USUAL_BYTES: usize = 16;

/// The fields of the wrapper that were read so far.
#[derive(Default)]
struct PartialArgs {
    /// Whether each of [`FIELDS`] was there.
    seen: [bool; FIELDS.len()],
    pod: Option<Range<usize>>,
    /// The whole nodes, and those that were known.
    whole: Option<(Elements, KnownNodes)>,
    names: Elements,
}

/// A cursor over a request's body. `None` does not mean invalid: serde must read the body.
struct Cursor<'b> {
    body: &'b [u8],
    at: usize,
    max_nodes: usize,
}

/// The known elements of a list, by slot.
trait KnownElements {
    /// The order in which the elements came before (a successor table).
    fn order(&self) -> &SuccessorTable;

    /// The bytes of an element as it came before; empty if no prediction is possible.
    fn bytes(&self, slot: u32) -> &[u8];

    /// Reads an element that was mispredicted: its slot if it is known and unchanged, else [`Nodes::UNKNOWN`]. `None` if
    /// serde must read it.
    fn search(&self, cursor: &mut Cursor<'_>) -> Option<u32>;
}

/// Reads a request: names are looked up among those of a cluster, whole nodes among those that are known. `known` is
/// called only if there are whole nodes.
pub(super) fn args(
    body: &Bytes,
    names: &NameIndex,
    known: &impl Fn() -> KnownNodeOrder,
    max_nodes: usize,
) -> Option<ExtenderArgs> {
    let (mut cursor, mut parts) = (Cursor { body, at: 0, max_nodes }, PartialArgs::default());
    cursor.fields(|cursor, key| {
        let field = FIELDS.iter().position(|field| field.eq_ignore_ascii_case(key));
        // Of a field that is there twice, the last counts.
        if field.is_some_and(|at| std::mem::replace(&mut parts.seen[at], true)) {
            return None;
        }
        match field {
            _ if cursor.null().is_some() => {}
            Some(0) => parts.pod = Some(cursor.value()?),
            Some(1) => parts.whole = Some(node_list(cursor, known())?),
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
    let mut items = None;
    cursor.fields(|cursor, key| {
        if !key.eq_ignore_ascii_case("items") {
            cursor.value()?;
        } else if items.is_some() {
            return None;
        } else {
            items = Some(list(cursor, &known)?);
        }
        Some(())
    })?;
    Some((items?, known.nodes))
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
        if ranges.len() >= cursor.max_nodes {
            return None;
        }
        let start = cursor.at;
        // After a misprediction the order is probably new: try one successor only.
        let slot = if let Some((slot, bytes)) = expected(known, before, tries, &cursor.body[start..]) {
            (cursor.at, tries) = (start + bytes, TRIES);
            slot
        } else {
            tries = 1;
            known.search(cursor)?
        };
        ranges.push(start..cursor.at);
        slots.push(slot);
        if slot != Nodes::UNKNOWN {
            if tries == 1 {
                known.order().learn(before, slot);
            }
            before = Some(slot);
        }
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

impl KnownElements for NameIndex {
    fn order(&self) -> &SuccessorTable {
        &self.order
    }

    fn bytes(&self, slot: u32) -> &[u8] {
        self.quoted(slot)
    }

    fn search(&self, cursor: &mut Cursor<'_>) -> Option<u32> {
        Some(self.names().find(cursor.text()?).unwrap_or(Nodes::UNKNOWN))
    }
}

impl KnownElements for KnownNodeOrder {
    fn order(&self) -> &SuccessorTable {
        &self.index.order
    }

    fn bytes(&self, slot: u32) -> &[u8] {
        self.nodes.node(slot).map_or(&[], |node| node.json())
    }

    fn search(&self, cursor: &mut Cursor<'_>) -> Option<u32> {
        let json = cursor.value_text()?;
        Some(self.nodes.find(json).filter(|slot| self.bytes(*slot) == json).unwrap_or(Nodes::UNKNOWN))
    }
}
