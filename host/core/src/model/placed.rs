//! The pods placed on one node.

use std::{cmp::Ordering, sync::Arc};

use hashbrown::HashMap;

use crate::model::{AffinityTerm, AntiAffinity, Node, Pod, Quantities, object::Sums, stamp::stamp};

/// The pods placed on one node.
#[derive(Debug, Default)]
pub struct Placed {
    pods: Vec<Arc<Pod>>,
    /// None where only some of the node's pods are known.
    requested: Option<Quantities>,
    /// That of the pods that have one: each pod that waits is held against it.
    anti_affinity: Box<[Arc<AntiAffinity>]>,
    /// Unique to the record; empty records share one.
    stamp: u64,
}

/// Pods on nodes that have no slot, by the name of the node: reads about the whole cluster count them.
pub type Unlisted = Arc<HashMap<Arc<str>, UnlistedNode>>;

/// A node that has no slot, with its pods.
#[derive(Debug, Clone)]
pub struct UnlistedNode {
    /// The Node, where it is known: it has no slot as long as one of its pods cannot be read.
    pub node: Option<Arc<Node>>,
    /// Its pods, without those that cannot be read.
    pub placed: Arc<Placed>,
}

// === impl Placed ===

impl Placed {
    /// All pods of a node; sums up their requests.
    pub fn new(pods: Vec<Arc<Pod>>) -> Self {
        let mut requested = Sums::default();
        for pod in &pods {
            requested.add_all(pod.requests());
        }
        Self { requested: Some(Quantities::from(requested)), ..Self::partial(pods) }
    }

    /// Some pods of a node that may have others.
    pub fn partial(pods: Vec<Arc<Pod>>) -> Self {
        let anti_affinity = pods.iter().filter_map(|pod| pod.anti_affinity().cloned()).collect();
        Self { pods, requested: None, anti_affinity, stamp: stamp() }
    }

    /// The pods, in the order of their indices.
    pub fn pods(&self) -> &[Arc<Pod>] {
        &self.pods
    }

    /// The terms of required anti-affinity of all its pods.
    pub(crate) fn anti_affinity(&self) -> impl Iterator<Item = &AffinityTerm> {
        self.anti_affinity.iter().flat_map(|pod| pod.terms())
    }

    /// Sum of their effective requests; none if the node may have other pods.
    pub fn requested(&self) -> Option<&Quantities> {
        self.requested.as_ref()
    }

    /// Tells this record from every other.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Other pods of the same node.
    fn of(&self, pods: Vec<Arc<Pod>>) -> Self {
        if self.requested.is_some() { Self::new(pods) } else { Self::partial(pods) }
    }

    /// The same pods without this one; none if it is not among them.
    pub(crate) fn without(&self, pod: &Pod) -> Option<Self> {
        let at = self.pods.iter().position(|placed| placed.is_same_object(pod))?;
        let mut pods = self.pods.clone();
        pods.remove(at);
        Some(self.of(pods))
    }

    /// The index of the pod with this UID.
    pub fn position(&self, uid: &str) -> Option<u32> {
        self.pods.iter().position(|pod| pod.uid() == uid).map(|at| at as u32)
    }
}

/// From the oldest pod to the newest: every replica has the same order, whatever it saw and when.
pub fn placed_order(a: &Pod, b: &Pod) -> Ordering {
    (a.created(), a.namespace(), a.name(), a.uid()).cmp(&(b.created(), b.namespace(), b.name(), b.uid()))
}
