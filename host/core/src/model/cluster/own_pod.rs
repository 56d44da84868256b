//! The pods that do not count for the pod of a request: itself, where it is placed already, and nominated pods that it
//! outranks; and those that count for it alone: the members of its pod group that have a tentative place.

use std::sync::Arc;

use super::Cluster;
use crate::model::{Node, Nomination, Placed, Pod, Slot, Slots, UnlistedNode};

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
    /// The pods that do not count.
    hidden: Vec<PlacedPod>,
    /// Pods that count although the cluster does not have them there.
    tentative: Vec<PlacedPod>,
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
    /// A pod is known by its UID; one that has none, as a manifest has none, by its namespace and name. The result
    /// follows no other cluster, so nothing that was worked out for one holds for the other.
    #[must_use]
    pub fn without(&self, pod: &Pod) -> Option<Self> {
        self.counted_for(pod, OwnPlace::Anywhere)
    }

    /// The same, where the place of the pod itself is known.
    pub(crate) fn counted_for(&self, pod: &Pod, place: OwnPlace) -> Option<Self> {
        let anywhere = || (0..self.slots.len() as u32).find_map(|slot| self.without_at(slot, pod));
        let own = self.without_placed(pod).or_else(|| if place == OwnPlace::Anywhere { anywhere() } else { None });
        self.without_each(own, self.outranked_by(pod))
    }

    /// `first`, or else this cluster, without these pods, of which each names its node; `first` if there are none.
    pub(super) fn without_each<'p>(
        &self,
        first: Option<Self>,
        pods: impl Iterator<Item = &'p Arc<Pod>>,
    ) -> Option<Self> {
        pods.fold(first, |cluster, pod| cluster.as_ref().unwrap_or(self).without_placed(pod).or(cluster))
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

    /// The same without this pod alone, where it says on which node it is, or counts there before it is bound.
    ///
    /// A pod that waits for its node has neither: this costs such a request nothing.
    fn without_placed(&self, pod: &Pod) -> Option<Self> {
        self.without_at(self.find(self.node_name_of(pod)?)?, pod)
    }

    /// The node that the pod itself names, or on which it counts before it is bound.
    fn node_name_of<'c>(&'c self, pod: &'c Pod) -> Option<&'c str> {
        match pod.node() {
            Some(node) => Some(node),
            None if self.reserved.is_empty() => None,
            None => self.reserved.get(pod.uid())?.node(),
        }
    }

    fn without_at(&self, slot: u32, pod: &Pod) -> Option<Self> {
        let mut slots = self.slots.clone();
        change_pods(&mut slots, slot, |placed| placed.without(pod))?;
        Some(Self { facts: self.facts.clone(), ..self.successor(slots) })
    }

    /// The same cluster with these pods on the nodes that they name, once: instead of where they are nominated, and where
    /// they are on that node already.
    pub(crate) fn with_tentative(&self, pods: &[Arc<Pod>]) -> Self {
        let mut slots = self.slots.clone();
        let slot = |pod: &Pod| self.find(pod.node()?);
        for pod in pods {
            let known = slot(self.reserved.get(pod.uid()).unwrap_or(pod));
            known.and_then(|slot| change_pods(&mut slots, slot, |placed| placed.without(pod)));
            slot(pod).and_then(|slot| change_pods(&mut slots, slot, |placed| Some(placed.with(pod))));
        }
        Self { facts: self.facts.clone(), ..self.successor(slots) }
    }
}

// === impl WholeCluster ===

impl WholeCluster {
    pub(crate) fn of(cluster: Option<Arc<Cluster>>) -> Self {
        Self { cluster, ..Self::default() }
    }

    /// The cluster.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.cluster.as_ref()
    }

    /// The pods that do not count.
    pub(crate) fn hidden(&self) -> &[PlacedPod] {
        &self.hidden
    }

    /// The pods that count although the cluster does not have them there.
    pub(crate) fn tentative(&self) -> &[PlacedPod] {
        &self.tentative
    }

    /// Counts these pods: see [`Cluster::with_tentative`].
    pub(crate) fn count_tentative(&mut self, pods: &[Arc<Pod>]) {
        let Some(cluster) = &self.cluster else { return };
        let known =
            |pod: &Arc<Pod>| cluster.placed_pod(cluster.reserved.get(pod.uid()).unwrap_or(pod), OwnPlace::AsThePodSays);
        self.hidden.extend(pods.iter().filter_map(known));
        let node = |pod: &Pod| Some(Arc::clone(&cluster.slots.get(cluster.find(pod.node()?)? as usize)?.node));
        self.tentative = pods.iter().map(|pod| PlacedPod { node: node(pod), pod: Arc::clone(pod) }).collect();
    }

    /// Leaves out the pods that do not count for the pod of the request: see [`Cluster::without`].
    pub(crate) fn count_for(&mut self, pod: &Pod, place: OwnPlace) {
        let Some(cluster) = &self.cluster else { return };
        let outranked = cluster.outranked_by(pod).filter_map(|other| cluster.placed_pod(other, OwnPlace::AsThePodSays));
        self.hidden = cluster.placed_pod(pod, place).into_iter().chain(outranked).collect();
    }

    /// Leaves out all nominated pods.
    pub(crate) fn leave_out_nominated(&mut self) {
        let Some(cluster) = &self.cluster else { return };
        let nominated = cluster.nominated().filter_map(|pod| cluster.placed_pod(pod, OwnPlace::AsThePodSays));
        self.hidden.retain(|hidden| hidden.pod.nomination().is_none());
        self.hidden.extend(nominated);
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
