//! The names of a cluster's nodes: found by text, or foretold by the order in which requests give them.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::{Lists, Order, Slot, Slots};

/// Slots by name, and each name as a request writes it.
///
/// Whoever reads a request compares it with the name that is expected next, and searches only where that is
/// not the one: most requests give the names in the order of the last.
#[derive(Debug, Default)]
pub struct Names {
    slots: HashMap<Arc<str>, u32, foldhash::fast::RandomState>,
    /// Every name as JSON, one behind another.
    text: Vec<u8>,
    /// Where in the text the name of each slot ends.
    ends: Vec<usize>,
    order: Order,
    lists: Lists,
}

// === impl Names ===

impl Names {
    /// The names of these slots; of two with one name the later is found.
    pub(crate) fn new(slots: &Slots) -> Self {
        Self::with_order(slots, Order::new(slots.len()))
    }

    /// The names of the slots after these; what is known of the order stays.
    pub(crate) fn successor(&self, slots: &Slots) -> Self {
        Self::with_order(slots, self.order.successor(slots.len()))
    }

    fn with_order(slots: &Slots, order: Order) -> Self {
        let entry = |(at, slot): (usize, &Slot)| (Arc::clone(slot.node.name()), at as u32);
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(slots.len()));
        for slot in slots.iter() {
            push_quoted(&mut text, slot.node.name());
            ends.push(text.len());
        }
        Self { slots: slots.iter().enumerate().map(entry).collect(), text, ends, order, lists: Lists::default() }
    }

    /// The slot of the node with this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.slots.get(name).copied()
    }

    /// The name of a slot as JSON; empty if there is no such slot, or the name cannot stand in JSON as it is.
    #[inline]
    pub fn quoted(&self, slot: u32) -> &[u8] {
        let at = slot as usize;
        let Some(end) = self.ends.get(at) else { return &[] };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..*end]
    }

    /// The lists of these names that came last.
    pub fn lists(&self) -> &Lists {
        &self.lists
    }

    /// The order in which requests give the names.
    #[inline]
    pub fn order(&self) -> &Order {
        &self.order
    }
}

/// Writes a name in quotes, or nothing where that needs an escape: then it is never the one that is expected.
fn push_quoted(out: &mut Vec<u8>, name: &str) {
    if name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        return;
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::Node;

    fn slots(names: &[&str]) -> Slots {
        let node = |name: &&str| Node::from_json(Bytes::from(json!({"metadata": {"name": name}}).to_string())).unwrap();
        names.iter().map(|name| Slot { node: Arc::new(node(name)), placed: None }).collect()
    }

    #[test]
    fn a_name_is_kept_as_a_request_writes_it_unless_it_needs_an_escape() {
        let names = Names::new(&slots(&["a", "b\"c", "é", "d\\", "e\n", "f"]));
        let quoted: Vec<&str> = (0..7).map(|slot| std::str::from_utf8(names.quoted(slot)).unwrap()).collect();
        assert_eq!(quoted, ["\"a\"", "", "\"é\"", "", "", "\"f\"", ""]);
        assert_eq!((names.find("b\"c"), names.find("f"), names.find("g")), (Some(1), Some(5), None));
    }

    #[test]
    fn the_order_outlives_a_change_of_the_names() {
        let names = Names::new(&slots(&["a", "b", "c"]));
        names.order().learn(None, 2);
        let after = names.successor(&slots(&["a", "b", "c", "d"]));
        assert_eq!((after.order().after(None), after.order().after(Some(2))), (Some(2), Some(3)));
        assert_eq!(names.successor(&slots(&["a"])).order().after(None), None);
    }
}
