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

/// The cluster in force as a request found it, whatever nodes it names; none where the gateway has no view of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct WholeCluster {
    cluster: Option<Arc<Cluster>>,
    /// The pod of the request, where it is placed already: it does not count.
    own: Option<PlacedPod>,
}

// === impl Cluster ===

impl Cluster {
    /// The pod where it is placed already.
    ///
    /// A pod that waits for its node is named nowhere: as it says itself, this costs such a request nothing.
    fn placed_pod(&self, pod: &Pod, place: OwnPlace) -> Option<PlacedPod> {
        let in_slot = |slot: &Slot| find(slot.placed.as_deref(), Some(&slot.node), pod);
        let unlisted = |node: &UnlistedNode| find(Some(&node.placed), node.node.as_ref(), pod);
        let named = self.node_name_of(pod).and_then(|name| match self.find(name) {
            Some(at) => in_slot(self.slots.get(at as usize)?),
            None => unlisted(self.unlisted.get(name)?),
        });
        if place == OwnPlace::AsThePodSays {
            return named;
        }
        let anywhere = || self.slots.iter().find_map(in_slot);
        named.or_else(anywhere).or_else(|| self.unlisted.values().find_map(unlisted))
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

// === impl WholeCluster ===

impl WholeCluster {
    pub(crate) fn of(cluster: Option<Arc<Cluster>>) -> Self {
        Self { cluster, own: None }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_deref()
    }

    /// The pod that does not count.
    pub(crate) fn own(&self) -> Option<&PlacedPod> {
        self.own.as_ref()
    }

    /// Leaves out the pod of the request, where it is placed already.
    pub(crate) fn leave_out(&mut self, pod: &Pod, place: OwnPlace) {
        self.own = self.cluster.as_ref().and_then(|cluster| cluster.placed_pod(pod, place));
    }
}

fn find(placed: Option<&Placed>, node: Option<&Arc<Node>>, pod: &Pod) -> Option<PlacedPod> {
    let own = placed?.pods().iter().find(|own| own.is_same_object(pod))?;
    Some(PlacedPod { pod: Arc::clone(own), node: node.cloned() })
}
