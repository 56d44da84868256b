//! What counts for a request: not its own pod where it is placed already, and not nominated preemptors that it outranks.

use std::sync::Arc;

use super::Cluster;
use crate::model::{Node, Nomination, PODS, Placed, Pod, Slot, Slots, UnlistedNode};

/// Where the pod of a request may be placed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnPlace {
    /// On the node that its `spec.nodeName` names, that a bind under way has reserved for it, or that it is nominated for.
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
    /// The pods that do not count, each once.
    hidden: Vec<PlacedPod>,
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

    /// The same cluster without the pods that do not count for this one: itself, and [preemptors](Nomination::Preemptor)
    /// of lower priority; none if there are none.
    ///
    /// A pod is known by its UID; one that has none, as a manifest has none, by its namespace and name.
    #[must_use]
    pub fn without(&self, pod: &Pod) -> Option<Self> {
        self.without_all(&self.not_counted(pod, OwnPlace::Anywhere))
    }

    /// The pods that do not count for this one.
    pub(crate) fn not_counted(&self, pod: &Pod, place: OwnPlace) -> Vec<PlacedPod> {
        let outranked = self.outranked_by(pod).filter(|other| !other.is_same_object(pod));
        let outranked = outranked.filter_map(|other| self.placed_pod(other, OwnPlace::AsThePodSays));
        self.placed_pod(pod, place).into_iter().chain(outranked).collect()
    }

    /// The same cluster without these pods; none if no node has any of them. It shares the values that were read of other
    /// nodes, and no snapshot follows it.
    pub(crate) fn without_all(&self, pods: &[PlacedPod]) -> Option<Self> {
        if pods.is_empty() {
            return None;
        }
        let (mut slots, mut changed) = (self.slots.clone(), Vec::new());
        for PlacedPod { pod, node } in pods {
            let Some(slot) = node.as_ref().and_then(|node| self.find(node.name())) else { continue };
            if change_pods(&mut slots, slot, |placed| placed.without(pod)).is_some() {
                changed.push((slot, PODS));
            }
        }
        if changed.is_empty() {
            return None;
        }
        let without = Self { facts: self.facts.clone(), ..self.successor(slots) };
        without.columns.copy_from(&self.columns, &changed);
        Some(without)
    }

    /// The pods that other replicas decide about.
    pub(super) fn forwarded_pods(&self) -> Vec<PlacedPod> {
        self.forwarded.iter().filter_map(|pod| self.placed_pod(pod, OwnPlace::AsThePodSays)).collect()
    }

    /// The nominated pods.
    fn nominated(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.reserved.values().filter(|pod| pod.nomination().is_some())
    }

    /// The nominated preemptors of lower priority: kube-scheduler does not count them either.
    fn outranked_by(&self, pod: &Pod) -> impl Iterator<Item = &Arc<Pod>> + use<'_> {
        let priority = pod.priority();
        self.reserved
            .values()
            .filter(move |other| other.nomination() == Some(Nomination::Preemptor) && other.priority() < priority)
    }

    /// The node that the pod itself names, or on which it counts before it is bound.
    fn node_name_of<'c>(&'c self, pod: &'c Pod) -> Option<&'c str> {
        match pod.node() {
            Some(node) => Some(node),
            None if self.reserved.is_empty() => None,
            None => self.reserved.get(pod.uid())?.node(),
        }
    }
}

// === impl WholeCluster ===

impl WholeCluster {
    /// The cluster for a request about this pod: see [`Cluster::without`].
    pub(crate) fn of(cluster: Option<Arc<Cluster>>, pod: &Pod, place: OwnPlace) -> Self {
        let hidden = cluster.as_ref().map_or_else(Vec::new, |cluster| cluster.not_counted(pod, place));
        Self { cluster, hidden }
    }

    /// The cluster with all of its pods.
    pub(crate) fn all_of(cluster: Arc<Cluster>) -> Self {
        Self { cluster: Some(cluster), hidden: Vec::new() }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.as_ref()
    }

    /// The pods that do not count.
    pub(crate) fn hidden(&self) -> &[PlacedPod] {
        &self.hidden
    }

    /// Leaves out all nominated pods, and those with a tentative place if `yields` is false.
    pub(crate) fn leave_out_waiting(&mut self, yields: bool) {
        let Some(cluster) = &self.cluster else { return };
        let tentative = cluster.tentative.iter().filter(|_| !yields);
        for pod in cluster.nominated().chain(tentative) {
            let is_hidden = self.hidden.iter().any(|hidden| hidden.pod.is_same_object(pod));
            let placed = if is_hidden { None } else { cluster.placed_pod(pod, OwnPlace::AsThePodSays) };
            self.hidden.extend(placed);
        }
    }
}

/// Puts other pods on the node of a slot; none, and no change, where they are not known or `change` has none.
fn change_pods(slots: &mut Slots, slot: u32, change: impl FnOnce(&Placed) -> Option<Placed>) -> Option<()> {
    let Slot { node, placed } = slots.get(slot as usize)?;
    let (node, placed) = (Arc::clone(node), change(placed.as_deref()?)?);
    slots.replace(slot as usize, Slot { node, placed: Some(Arc::new(placed)) });
    Some(())
}

fn find(placed: Option<&Placed>, node: Option<&Arc<Node>>, pod: &Pod) -> Option<PlacedPod> {
    let own = placed?.pods().iter().find(|own| own.is_same_object(pod))?;
    Some(PlacedPod { pod: Arc::clone(own), node: node.cloned() })
}
