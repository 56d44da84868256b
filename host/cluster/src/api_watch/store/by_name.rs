//! A set of pods keyed by namespace and name, which the pods themselves hold: no key is stored twice.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use hashbrown::Equivalent;
use plimsoll_core::Pod;

/// A pod as the element of a set that is keyed by namespace and name.
#[derive(Debug)]
pub(super) struct PodByName(pub(super) Arc<Pod>);

/// The key of such a set, borrowed from a pod.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PodName<'a> {
    namespace: &'a str,
    name: &'a str,
}

// === impl PodName ===

impl<'a> PodName<'a> {
    pub(super) fn of(pod: &'a Pod) -> Self {
        Self { namespace: pod.namespace(), name: pod.name() }
    }
}

impl Equivalent<PodByName> for PodName<'_> {
    fn equivalent(&self, pod: &PodByName) -> bool {
        *self == PodName::of(&pod.0)
    }
}

// === impl PodByName ===

impl PartialEq for PodByName {
    fn eq(&self, other: &Self) -> bool {
        PodName::of(&self.0) == PodName::of(&other.0)
    }
}

impl Eq for PodByName {}

impl Hash for PodByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        PodName::of(&self.0).hash(state);
    }
}
