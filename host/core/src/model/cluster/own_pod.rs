//! The pod of a request, where it is placed already: it must not count against itself.

use std::sync::Arc;

use super::Cluster;
use crate::model::{Node, Placed, Pod, Slot, UnlistedNode};

/// Where the pod of a request may be placed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnPlace {
    /// On the node that its `spec.nodeName` names, or that a bind under way has reserved for it, if any.
    AsThePodSays,
    /// On any node of the cluster: all are searched.
    Anywhere,
}

/// A pod that is placed already, and its node where that has a slot.
#[derive(Debug, Clone)]
pub(crate) struct PlacedPod {
    pub(crate) pod: Arc<Pod>,
    pub(crate) node: Option<Arc<Node>>,
}

// === impl Cluster ===

impl Cluster {
    /// Where a pod is placed already: on the node that it names, or that is reserved for it.
    ///
    /// A pod that waits for its node has neither: this costs such a request nothing.
    pub(crate) fn placed_pod(&self, pod: &Pod) -> Option<PlacedPod> {
        let name = self.node_name_of(pod)?;
        let slot = self.find(name).and_then(|at| self.slots.get(at as usize));
        match slot {
            Some(slot) => slot.find(pod),
            None => find_unlisted(self.unlisted.get(name)?, pod),
        }
    }

    /// As [`Self::placed_pod`], wherever in the cluster it is: all nodes are searched.
    pub(crate) fn placed_anywhere(&self, pod: &Pod) -> Option<PlacedPod> {
        let listed = || self.slots.iter().find_map(|slot| slot.find(pod));
        let unlisted = || self.unlisted.values().find_map(|node| find_unlisted(node, pod));
        self.placed_pod(pod).or_else(listed).or_else(unlisted)
    }

    /// The same cluster without this pod; none if it is placed nowhere.
    ///
    /// A pod is known by its UID; one that has none, as a manifest has none, by its namespace and name. The result
    /// follows no other cluster, so nothing that was worked out for one holds for the other.
    #[must_use]
    pub fn without(&self, pod: &Pod) -> Option<Self> {
        self.without_placed(pod).or_else(|| (0..self.slots.len() as u32).find_map(|slot| self.without_at(slot, pod)))
    }

    /// The same, where the pod itself says on which node it is, or has a place reserved there.
    ///
    /// A pod that waits for its node has neither: this costs such a request nothing.
    pub(crate) fn without_placed(&self, pod: &Pod) -> Option<Self> {
        self.without_at(self.find(self.node_name_of(pod)?)?, pod)
    }

    /// The node that the pod itself names, or that is reserved for it.
    fn node_name_of<'c>(&'c self, pod: &'c Pod) -> Option<&'c str> {
        match pod.node() {
            Some(node) => Some(node),
            None if self.reserved.is_empty() => None,
            None => self.reserved.get(pod.uid()).map(AsRef::as_ref),
        }
    }

    fn without_at(&self, slot: u32, pod: &Pod) -> Option<Self> {
        let Slot { node, placed } = self.slots.get(slot as usize)?;
        let placed = placed.as_deref()?.without(pod)?;
        let mut slots = self.slots.clone();
        slots.replace(slot as usize, Slot { node: Arc::clone(node), placed: Some(Arc::new(placed)) });
        Some(Self { facts: self.facts.clone(), ..self.successor(slots) })
    }
}

// === impl Slot ===

impl Slot {
    /// The pod among those that are placed on the node.
    fn find(&self, pod: &Pod) -> Option<PlacedPod> {
        let pod = find(self.placed.as_deref()?, pod)?;
        Some(PlacedPod { pod, node: Some(Arc::clone(&self.node)) })
    }
}

fn find_unlisted(UnlistedNode { node, placed }: &UnlistedNode, pod: &Pod) -> Option<PlacedPod> {
    find(placed, pod).map(|pod| PlacedPod { pod, node: node.clone() })
}

fn find(placed: &Placed, pod: &Pod) -> Option<Arc<Pod>> {
    placed.pods().iter().find(|placed| placed.is_same_object(pod)).cloned()
}
