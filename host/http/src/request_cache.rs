//! The names of a snapshot's nodes as requests write them, and the order in which they come; and the last pod.
//!
//! The reader of a request compares each name with the predicted one, and looks it up only if they differ: most requests
//! have the names in the order of the last one.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use plimsoll_core::{Cluster, KnownNodes, Names, ObjectError, Pod};

/// The names of the last requests, with their order. One serves a whole server.
#[derive(Debug, Default)]
pub(crate) struct RequestCache {
    /// Of the cluster in force.
    cluster: ArcSwapOption<NameIndex>,
    /// Of the whole nodes that requests have brought.
    known_nodes: ArcSwapOption<NameIndex>,
    /// The pod of the last request: filter, prioritize and preempt ask about one pod after each other.
    pod: ArcSwapOption<Pod>,
}

/// Slots by name, each name as a request writes it, and the order in which requests name them.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    names: Arc<Names>,
    /// Every name as JSON, concatenated.
    text: Vec<u8>,
    /// Where in the text the name of each slot ends.
    ends: Vec<usize>,
    /// The order in which requests give the names.
    pub(crate) order: SuccessorTable,
}

/// The whole nodes that requests have brought, with their order.
#[derive(Debug, Default)]
pub(crate) struct KnownNodeOrder {
    pub(crate) nodes: KnownNodes,
    pub(crate) index: Arc<NameIndex>,
}

/// The order in which requests list the slots of a cluster.
///
/// A prediction that its user checks: writers need not agree, and no write waits for another.
#[derive(Debug, Default)]
pub(crate) struct SuccessorTable {
    /// The slot that comes first, then the successor of each slot.
    next: Box<[AtomicU32]>,
}

// === impl RequestCache ===

impl RequestCache {
    /// The names of the cluster in force.
    pub(crate) fn names(&self, cluster: Option<&Cluster>) -> Arc<NameIndex> {
        cluster.map_or_else(Arc::default, |cluster| NameIndex::in_cache(&self.cluster, cluster))
    }

    /// The whole nodes that requests have brought, with their order.
    pub(crate) fn known_nodes(&self, nodes: KnownNodes) -> KnownNodeOrder {
        let index = NameIndex::in_cache(&self.known_nodes, nodes.cluster());
        KnownNodeOrder { nodes, index }
    }

    /// The pod with this JSON, which is parsed unless the last request was about it.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub(crate) fn pod(&self, json: &[u8]) -> Result<Arc<Pod>, ObjectError> {
        if let Some(pod) = self.pod.load_full().filter(|pod| pod.json().is_some_and(|last| *last == json)) {
            return Ok(pod);
        }
        // A slice would keep the whole request in memory.
        let pod = Arc::new(Pod::from_json(Bytes::copy_from_slice(json))?);
        self.pod.store(Some(Arc::clone(&pod)));
        Ok(pod)
    }
}

// === impl NameIndex ===

impl NameIndex {
    /// The index of a snapshot. A new one is made when the names have changed; it has the order of the last one.
    fn in_cache(cache: &ArcSwapOption<Self>, cluster: &Cluster) -> Arc<Self> {
        let last = cache.load();
        // Snapshots share their names while no node comes or goes.
        if let Some(index) = last.as_ref().filter(|index| Arc::ptr_eq(&index.names, cluster.names())) {
            return Arc::clone(index);
        }
        let index = Arc::new(Self::new(cluster, last.as_ref().map(|last| &last.order)));
        cache.store(Some(Arc::clone(&index)));
        index
    }

    /// The names of a snapshot, in their order so far.
    pub(crate) fn new(cluster: &Cluster, order: Option<&SuccessorTable>) -> Self {
        let slots = cluster.slots();
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(slots.len()));
        for slot in slots.iter() {
            let name = slot.node.name().as_bytes();
            // A name that needs an escape is never predicted.
            if !name.iter().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
                text.push(b'"');
                text.extend_from_slice(name);
                text.push(b'"');
            }
            ends.push(text.len());
        }
        let order = SuccessorTable::new(slots.len(), order);
        Self { names: Arc::clone(cluster.names()), text, ends, order }
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
}

// === impl SuccessorTable ===

impl SuccessorTable {
    /// Slots in the order of an earlier table, and others in the order of their numbers.
    fn new(slots: usize, earlier: Option<&Self>) -> Self {
        let earlier = |at: u32| earlier.and_then(|earlier| earlier.next.get(at as usize));
        let next = |at| AtomicU32::new(earlier(at).map_or(at, |next| next.load(Ordering::Relaxed)));
        Self { next: (0..=slots as u32).map(next).collect() }
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.next.len().saturating_sub(1)
    }

    /// The slot that came after this one, or first of all.
    #[inline]
    pub(crate) fn after(&self, slot: Option<u32>) -> Option<u32> {
        let next = self.next.get(index(slot))?.load(Ordering::Relaxed);
        ((next as usize) < self.len()).then_some(next)
    }

    /// Keeps the slot that comes after a slot, or first of all.
    pub(crate) fn learn(&self, before: Option<u32>, slot: u32) {
        if let Some(next) = self.next.get(index(before)) {
            next.store(slot, Ordering::Relaxed);
        }
    }
}

#[inline]
fn index(slot: Option<u32>) -> usize {
    slot.map_or(0, |slot| slot as usize + 1)
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
        let index = NameIndex::new(&cluster(&["a", "b\"c", "é", "d\\", "e\n", "f"]), None);
        let quoted: Vec<&str> = (0..7).map(|slot| std::str::from_utf8(index.quoted(slot)).unwrap()).collect();
        assert_eq!(quoted, ["\"a\"", "", "\"é\"", "", "", "\"f\"", ""]);
        let find = |name| index.names().find(name);
        assert_eq!((find("b\"c"), find("f"), find("g")), (Some(1), Some(5), None));
    }

    #[test]
    fn the_order_outlives_a_change_of_the_names() {
        let cache = RequestCache::default();
        let first = cache.names(Some(&cluster(&["a", "b", "c"])));
        first.order.learn(None, 2);
        let after = cache.names(Some(&cluster(&["a", "b", "c", "d"])));
        assert_eq!((after.order.after(None), after.order.after(Some(2))), (Some(2), Some(3)));
        assert_eq!(cache.names(Some(&cluster(&["a"]))).order.after(None), None);
    }

    #[test]
    fn an_index_is_made_once_for_the_names() {
        let (cache, cluster) = (RequestCache::default(), cluster(&["a", "b"]));
        let first = cache.names(Some(&cluster));
        assert!(Arc::ptr_eq(&first, &cache.names(Some(&cluster))));
        let same_names = cluster.successor(cluster.slots().clone());
        assert!(Arc::ptr_eq(&first, &cache.names(Some(&same_names))), "names are shared by snapshots");
    }

    #[test]
    fn slots_come_in_their_own_order_until_another_is_learned() {
        let order = SuccessorTable::new(3, None);
        let after = |slot| order.after(slot);
        assert_eq!([None, Some(0), Some(1), Some(2), Some(3)].map(after), [Some(0), Some(1), Some(2), None, None]);
        order.learn(None, 2);
        order.learn(Some(2), 0);
        order.learn(Some(7), 0);
        assert_eq!([None, Some(0), Some(1), Some(2), Some(7)].map(after), [Some(2), Some(1), Some(2), Some(0), None]);
    }

    #[test]
    fn no_slot_is_named_that_does_not_exist() {
        assert_eq!(SuccessorTable::default().after(None), None);
        assert_eq!(SuccessorTable::new(0, None).after(None), None);
        let order = SuccessorTable::new(2, None);
        order.learn(None, 5);
        assert_eq!(order.after(None), None);
    }
}
