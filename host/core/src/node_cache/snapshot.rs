//! Nodes of earlier requests as a snapshot of the cluster; each keeps its slot as long as it is known.

use std::sync::{Arc, Weak};

use hashbrown::HashMap;

use super::KnownNodes;
use crate::{Cluster, Facts, Node, Slot};

/// Approximate bytes of the record of a node, with its slot and its names.
pub(super) const NODE_BYTES: usize = 1 << 10;

/// Nodes that requests brought, with the pods that one cluster has on them.
#[derive(Debug, Default)]
pub(super) struct NodeSnapshot {
    pub(super) nodes: KnownNodes,
    /// Bytes that the nodes take.
    pub(super) bytes: usize,
    /// The cluster that the pods are of; none: nobody knew of pods.
    seen: Option<Weak<Cluster>>,
}

// === impl NodeSnapshot ===

impl NodeSnapshot {
    /// Whether its pods are those of this cluster.
    pub(super) fn shows(&self, seen: Option<&Arc<Cluster>>) -> bool {
        match (&self.seen, seen) {
            // A weak pointer keeps the address from being given to another.
            (Some(own), Some(seen)) => std::ptr::eq(own.as_ptr(), Arc::as_ptr(seen)),
            (own, seen) => own.is_none() && seen.is_none(),
        }
    }

    /// Whether its facts are these.
    pub(super) fn has(&self, facts: &Arc<Facts>) -> bool {
        self.nodes.cluster().facts().is_some_and(|own| Arc::ptr_eq(own, facts))
    }

    /// The slots of these nodes, if it has all of them.
    pub(super) fn slots(&self, nodes: &[Arc<Node>]) -> Option<Vec<u32>> {
        let cluster = self.nodes.cluster();
        let slot = |node: &Arc<Node>| {
            let slot = cluster.find(node.name())?;
            self.nodes.node(slot).is_some_and(|own| is_same(own, node)).then_some(slot)
        };
        nodes.iter().map(slot).collect()
    }

    /// The snapshot after this one: it has these nodes too, instead of others of their names.
    pub(super) fn with(&self, nodes: &[Arc<Node>], seen: Option<&Arc<Cluster>>, facts: &Arc<Facts>) -> Self {
        let before = self.nodes.cluster();
        let (mut slots, mut bytes) = (before.slots().to_vec(), self.bytes);
        let mut added: HashMap<&str, usize> = HashMap::new();
        for node in nodes {
            let known = before.find(node.name()).map(|slot| slot as usize);
            let at = known.unwrap_or_else(|| *added.entry(node.name().as_ref()).or_insert(slots.len()));
            match slots.get_mut(at) {
                Some(slot) if is_same(&slot.node, node) => continue,
                Some(slot) => {
                    bytes -= weight(&slot.node);
                    slot.node = Arc::clone(node);
                }
                None => slots.push(Slot { node: Arc::clone(node), placed: None }),
            }
            bytes += weight(node);
        }
        let shown = if self.shows(seen) { before.slots().len() } else { 0 };
        for each in &mut slots[shown..] {
            *each = slot(Arc::clone(&each.node), seen);
        }
        let cluster = with_reserved_of(before.successor(slots), seen).with_facts(Arc::clone(facts));
        // The next request must not wait for them.
        cluster.names();
        cluster.follow(before);
        Self { nodes: KnownNodes::new(Arc::new(cluster)), bytes, seen: seen.map(Arc::downgrade) }
    }
}

/// A node with the pods that a cluster has on it.
pub(super) fn slot(node: Arc<Node>, seen: Option<&Arc<Cluster>>) -> Slot {
    Slot { placed: seen.and_then(|seen| seen.placed_on(node.name())), node }
}

/// The snapshot with the places that the cluster in force has reserved.
pub(super) fn with_reserved_of(snapshot: Cluster, seen: Option<&Arc<Cluster>>) -> Cluster {
    snapshot.with_reserved(seen.map(|seen| Arc::clone(seen.reserved())).unwrap_or_default())
}

/// Bytes that a node takes.
pub(super) const fn weight(node: &Node) -> usize {
    node.heap_bytes() + NODE_BYTES
}

fn is_same(one: &Arc<Node>, other: &Arc<Node>) -> bool {
    Arc::ptr_eq(one, other) || one.json() == other.json()
}
