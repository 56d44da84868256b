//! One node with its pods, as the store keeps it: the node may not be there yet, or not any more.

use std::sync::Arc;

use plimsoll_core::{Node, Placed, Pod, Slot, UnlistedNode, placed_order};

/// A node's place: known by its Node, by pods that are bound to it, or by both.
#[derive(Debug, Default)]
pub(super) struct NodeEntry {
    pub(super) node: Option<Arc<Node>>,
    /// Whether the API server has a Node that cannot be read.
    pub(super) is_unreadable: bool,
    /// The list in which the Node was last seen.
    pub(super) seen: u64,
    /// Its slot in the cluster that was published last.
    pub(super) at: Option<usize>,
    /// Ascending by [`placed_order`].
    pods: Vec<Arc<Pod>>,
    /// Its pods as last published; `None` once they have changed.
    placed: Option<Arc<Placed>>,
    /// Its pods that cannot be read: as long as there are any, it is not published.
    pub(super) unreadable: Vec<Arc<Pod>>,
}

// === impl NodeEntry ===

impl NodeEntry {
    /// Whether it is new.
    pub(super) fn add(&mut self, pod: &Arc<Pod>, is_readable: bool) -> bool {
        self.unreadable.retain(|other| other.uid() != pod.uid());
        if !is_readable {
            self.unreadable.push(Arc::clone(pod));
            return true;
        }
        let Err(at) = self.pods.binary_search_by(|other| placed_order(other, pod)) else { return false };
        self.pods.insert(at, Arc::clone(pod));
        self.placed = None;
        true
    }

    pub(super) fn remove(&mut self, pod: &Pod) {
        self.unreadable.retain(|other| other.uid() != pod.uid());
        if let Ok(at) = self.pods.binary_search_by(|other| placed_order(other, pod)) {
            self.pods.remove(at);
            self.placed = None;
        }
    }

    /// Neither a Node nor a pod refers to it.
    pub(super) fn is_void(&self) -> bool {
        self.node.is_none() && !self.is_unreadable && self.pods.is_empty() && self.unreadable.is_empty()
    }

    /// The slot to publish, if its Node exists; an unchanged part stays the same record.
    pub(super) fn slot(&mut self, before: Option<&Slot>) -> Option<Slot> {
        let node = self.node.as_mut().filter(|_| self.unreadable.is_empty())?;
        if let Some(old) = before.map(|slot| &slot.node).filter(|old| old.json() == node.json()) {
            *node = Arc::clone(old);
        }
        let node = Arc::clone(node);
        let placed = self.placed(before.and_then(|slot| slot.placed.as_ref()));
        Some(Slot { node, placed: Some(placed) })
    }

    /// Its pods to publish without a slot, if it has any; `before` are those that were published last.
    pub(super) fn unlisted(&mut self, before: Option<&UnlistedNode>) -> Option<UnlistedNode> {
        let placed = |entry: &mut Self| entry.placed(before.map(|node| &node.placed));
        (!self.pods.is_empty()).then(|| UnlistedNode { placed: placed(self), node: self.node.clone() })
    }

    fn placed(&mut self, before: Option<&Arc<Placed>>) -> Arc<Placed> {
        let old = before.filter(|old| old.pods() == self.pods);
        let placed = match (old, &self.placed) {
            (Some(same), _) | (None, Some(same)) => Arc::clone(same),
            (None, None) => Arc::new(Placed::new(self.pods.clone())),
        };
        self.placed = Some(Arc::clone(&placed));
        placed
    }
}
