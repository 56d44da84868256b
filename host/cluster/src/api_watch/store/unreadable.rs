//! Pods that the API server has and that cannot be read.

use std::{collections::BTreeMap, sync::Arc};

use plimsoll_core::Pod;

use super::{
    ClusterStore,
    by_name::{PodByName, PodName},
};

// === impl ClusterStore ===

impl ClusterStore {
    /// A pod cannot be read: its last known state is no longer valid, and its node is out of view.
    pub(in super::super) fn put_unreadable_pod(&mut self, pod: Pod) {
        // A pod keeps its node for life, so its last known node is valid.
        let pod = match self.node_of(&pod) {
            Some(node) if pod.node().is_none() => pod.placed_on(&node, &BTreeMap::new(), &BTreeMap::new()),
            _ => pod,
        };
        self.remove_pod(&pod);
        if let Some(node) = pod.node() {
            let node: Arc<str> = node.into();
            self.entries.entry(Arc::clone(&node)).or_default().unreadable += 1;
            self.mark_dirty(&node);
        }
        self.unreadable.insert((pod.namespace().into(), pod.name().into()), (pod, self.pod_lists));
    }

    /// The node that a pod names, or that it was last seen on.
    pub(in super::super) fn node_of(&self, pod: &Pod) -> Option<Arc<str>> {
        let is_same = |other: &Pod| pod.uid().is_empty() || other.uid() == pod.uid();
        let shown = || self.pods.get_key_value(&PodName::of(pod)).map(|(PodByName(shown), _)| shown.as_ref());
        let reserved = || self.reserved.get(pod.uid()).map(|reserved| reserved.pod.as_ref());
        let unreadable = || self.unreadable.get(&(pod.namespace().into(), pod.name().into())).map(|(pod, _)| pod);
        let known = || shown().or_else(unreadable).filter(|other| is_same(other)).or_else(reserved);
        pod.node().or_else(|| known()?.node()).map(Arc::from)
    }

    /// A pod can be read, or is gone: if it could not be read before, its node comes back into view.
    pub(super) fn forget_unreadable(&mut self, pod: &Pod) {
        if self.unreadable.is_empty() {
            return;
        }
        let Some((unreadable, _)) = self.unreadable.remove(&(pod.namespace().into(), pod.name().into())) else {
            return;
        };
        if let Some(node) = unreadable.node()
            && let Some(entry) = self.entries.get_mut(node)
        {
            entry.unreadable = entry.unreadable.saturating_sub(1);
            self.mark_dirty(node);
        }
    }
}
