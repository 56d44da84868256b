//! The names of a snapshot's nodes as requests write them, and the order in which they come.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use plimsoll_core::{Cluster, KnownNodes, Names, Sender};

use super::{name_lists::NameListCache, successors::SuccessorTable};

/// Maximum senders of whole nodes whose order is kept. The one that was made first goes.
const MAX_SENDERS: usize = 4;

/// Slots by name, and each name as a request writes it.
///
/// The reader of a request compares each name with the predicted one, and looks it up only if they differ: most
/// requests have the names in the order of the last one.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    names: Arc<Names>,
    /// Every name as JSON, concatenated.
    text: Vec<u8>,
    /// Where in the text the name of each slot ends.
    ends: Vec<usize>,
    order: SuccessorTable,
    lists: NameListCache,
}

/// The indexes of the snapshots that requests were about.
#[derive(Debug, Default)]
pub(super) struct NameIndexes {
    /// Of the cluster in force.
    own: ArcSwapOption<NameIndex>,
    /// The order of the nodes that senders have brought.
    by_sender: ArcSwap<Vec<SenderOrder>>,
}

/// The order in which a sender brings the nodes of these names.
#[derive(Debug, Clone)]
struct SenderOrder {
    sender: Sender,
    names: Arc<Names>,
    order: Arc<SuccessorTable>,
}

/// The whole nodes that a sender has brought, and the order in which it brings them.
#[derive(Debug, Default)]
pub(crate) struct KnownNodeOrder {
    pub(crate) nodes: KnownNodes,
    pub(crate) order: Arc<SuccessorTable>,
}

// === impl NameIndex ===

impl NameIndex {
    /// The names of a snapshot; the order that an earlier index knows stays.
    fn new(cluster: &Cluster, earlier: Option<&Self>) -> Self {
        let slots = cluster.slots();
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(slots.len()));
        for slot in slots.iter() {
            push_quoted(&mut text, slot.node.name());
            ends.push(text.len());
        }
        let order = order_of(cluster, earlier.map(|earlier| &earlier.order));
        Self { names: Arc::clone(cluster.names()), text, ends, order, lists: NameListCache::default() }
    }

    #[cfg(test)]
    pub(crate) fn of(cluster: &Cluster) -> Self {
        Self::new(cluster, None)
    }

    /// Whether it has the names of this snapshot; snapshots share them while no node comes or goes.
    fn is_of(&self, cluster: &Cluster) -> bool {
        Arc::ptr_eq(&self.names, cluster.names())
    }

    /// Slots by name.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The name of a slot as JSON; empty if there is no such slot, or the name cannot stand in JSON as it is.
    #[inline]
    pub(crate) fn quoted(&self, slot: u32) -> &[u8] {
        let at = slot as usize;
        let Some(end) = self.ends.get(at) else { return &[] };
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..*end]
    }

    /// The lists of these names that came last.
    pub(crate) fn lists(&self) -> &NameListCache {
        &self.lists
    }

    /// The order in which requests give the names.
    #[inline]
    pub(crate) fn order(&self) -> &SuccessorTable {
        &self.order
    }
}

/// The order of the slots of a snapshot, as far as an earlier one is known.
fn order_of(cluster: &Cluster, earlier: Option<&SuccessorTable>) -> SuccessorTable {
    let slots = cluster.slots().len();
    earlier.map_or_else(|| SuccessorTable::new(slots), |earlier| earlier.successor(slots))
}

/// Writes a name in quotes, or nothing if it needs an escape: then it is never predicted.
fn push_quoted(out: &mut Vec<u8>, name: &str) {
    if name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        return;
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
}

// === impl NameIndexes ===

impl NameIndexes {
    /// The index of the cluster in force. A new one is made when the names have changed.
    pub(super) fn of_cluster(&self, cluster: &Cluster) -> Arc<NameIndex> {
        let earlier = self.own.load();
        if let Some(index) = earlier.as_ref().filter(|index| index.is_of(cluster)) {
            return Arc::clone(index);
        }
        let index = Arc::new(NameIndex::new(cluster, earlier.as_deref()));
        self.own.store(Some(Arc::clone(&index)));
        index
    }

    /// The order of the nodes that a sender has brought. A new one is made when their names have changed.
    pub(super) fn of_sender(&self, sender: Sender, cluster: &Cluster) -> Arc<SuccessorTable> {
        let kept = self.by_sender.load();
        let earlier = kept.iter().find(|kept| kept.sender == sender);
        if let Some(known) = earlier.filter(|kept| Arc::ptr_eq(&kept.names, cluster.names())) {
            return Arc::clone(&known.order);
        }
        let order = Arc::new(order_of(cluster, earlier.map(|earlier| &*earlier.order)));
        let new = SenderOrder { sender, names: Arc::clone(cluster.names()), order: Arc::clone(&order) };
        self.by_sender.rcu(|kept| {
            let others = kept.iter().filter(|kept| kept.sender != sender).take(MAX_SENDERS - 1);
            std::iter::once(&new).chain(others).cloned().collect::<Vec<_>>()
        });
        order
    }

    #[cfg(test)]
    pub(super) fn has(&self, cluster: &Cluster) -> bool {
        self.own.load().as_ref().is_some_and(|index| index.is_of(cluster))
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Node, Slot};
    use serde_json::json;

    use super::*;

    fn cluster(names: &[&str]) -> Cluster {
        let node = |name: &&str| Node::from_json(json!({"metadata": {"name": name}}).to_string().into()).unwrap();
        let slot = |name: &&str| Slot { node: Arc::new(node(name)), placed: None };
        Cluster::new(names.iter().map(slot).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_is_kept_as_a_request_writes_it_unless_it_needs_an_escape() {
        let index = NameIndex::of(&cluster(&["a", "b\"c", "é", "d\\", "e\n", "f"]));
        let quoted: Vec<&str> = (0..7).map(|slot| std::str::from_utf8(index.quoted(slot)).unwrap()).collect();
        assert_eq!(quoted, ["\"a\"", "", "\"é\"", "", "", "\"f\"", ""]);
        let find = |name| index.names().find(name);
        assert_eq!((find("b\"c"), find("f"), find("g")), (Some(1), Some(5), None));
    }

    #[test]
    fn the_order_outlives_a_change_of_the_names() {
        let indexes = NameIndexes::default();
        let first = indexes.of_cluster(&cluster(&["a", "b", "c"]));
        first.order().learn(None, 2);
        let after = indexes.of_cluster(&cluster(&["a", "b", "c", "d"]));
        assert_eq!((after.order().after(None), after.order().after(Some(2))), (Some(2), Some(3)));
        assert_eq!(indexes.of_cluster(&cluster(&["a"])).order().after(None), None);
    }

    #[test]
    fn an_index_is_made_once_for_the_names_and_senders_have_orders_of_their_own() {
        let (indexes, cluster) = (NameIndexes::default(), cluster(&["a", "b"]));
        let first = indexes.of_cluster(&cluster);
        assert!(Arc::ptr_eq(&first, &indexes.of_cluster(&cluster)));
        let same_names = cluster.successor(cluster.slots().clone());
        assert!(Arc::ptr_eq(&first, &indexes.of_cluster(&same_names)), "names are shared by snapshots");
        for sender in 0..2 * MAX_SENDERS {
            let sender = Sender::of(&sender.to_string());
            let order = indexes.of_sender(sender, &cluster);
            assert!(Arc::ptr_eq(&order, &indexes.of_sender(sender, &cluster)));
        }
        assert_eq!(indexes.by_sender.load().len(), MAX_SENDERS);
        assert!(Arc::ptr_eq(&first, &indexes.of_cluster(&cluster)), "senders do not take its place");
    }
}
