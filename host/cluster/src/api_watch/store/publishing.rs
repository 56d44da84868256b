//! Publishes a new [`Cluster`], in which only the slots of changed nodes are new.

use std::sync::Arc;

use plimsoll_core::{Cluster, DeviceClasses, Pod, Unlisted, UnlistedNode};

use super::{BindState, ClusterStore, ReservedPod};

// === impl ClusterStore ===

impl ClusterStore {
    /// The cluster as it was last published.
    pub(in super::super) fn published(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// The cluster as it is now, if that is another one than before.
    pub(in super::super) fn publish(&mut self) -> Option<Arc<Cluster>> {
        let mut is_news = std::mem::take(&mut self.has_changed_uncertain);
        for name in std::mem::take(&mut self.dirty) {
            is_news |= self.update_slot(&name);
        }
        let has_new_classes = self.device_classes.is_changed();
        if !is_news && !has_new_classes && !self.namespaces.is_changed() && !self.claims.is_changed() {
            return None;
        }
        // A reservation comes before a nomination.
        let nominated = self.nominated.values().filter(|_| !self.hides_nominated);
        let before_bound = nominated.map(|nominated| &nominated.pod);
        let before_bound = before_bound.chain(self.reserved.values().map(|reserved| &reserved.pod));
        let reserved = Arc::new(before_bound.map(|pod| (pod.uid().into(), Arc::clone(pod))).collect());
        let next = self.cluster.successor(self.slots.clone()).with_unlisted(Arc::clone(&self.unlisted));
        let next = next.with_forwarded(self.reserved_pods(|reserved| reserved.bind == BindState::Forwarded));
        let next = next.with_tentative_places(self.reserved_pods(|reserved| reserved.until().is_some()));
        let next = match self.device_classes.publish().filter(|_| has_new_classes) {
            Some(all) => next.with_device_classes(Arc::new(DeviceClasses::new(all.values().map(AsRef::as_ref)))),
            None => next,
        };
        let next = next.with_reserved(reserved).with_namespaces(self.namespaces.publish());
        self.cluster = Arc::new(next.with_bound_claims(self.claims.publish()));
        Some(Arc::clone(&self.cluster))
    }

    fn reserved_pods(&self, is_wanted: impl Fn(&ReservedPod) -> bool) -> Arc<[Arc<Pod>]> {
        self.reserved
            .values()
            .filter(|reserved| is_wanted(reserved))
            .map(|reserved| Arc::clone(&reserved.pod))
            .collect()
    }

    /// Brings the slot of one node up to date, or its pods if it has none; whether that changes anything.
    fn update_slot(&mut self, name: &str) -> bool {
        let Some(entry) = self.entries.get_mut(name) else { return false };
        let slot = entry.slot(entry.at.and_then(|at| self.slots.get(at)));
        let unlisted = if slot.is_none() { entry.unlisted(self.unlisted.get(name)) } else { None };
        let is_unlisted_news = update_unlisted(&mut self.unlisted, name, unlisted);
        let is_news = match (slot, entry.at) {
            (Some(slot), Some(at)) => {
                let is_news = self.slots.get(at).is_none_or(|old| !old.is_same(&slot));
                if is_news {
                    self.slots.replace(at, slot);
                }
                is_news
            }
            (Some(slot), None) => {
                entry.at = Some(self.slots.len());
                self.slots.push(slot);
                true
            }
            (None, at) => {
                entry.at = None;
                if entry.is_void() {
                    self.entries.remove(name);
                }
                at.inspect(|at| self.remove_slot(*at)).is_some()
            }
        };
        is_news || is_unlisted_news
    }

    /// Takes a slot away; the last one moves into its place.
    fn remove_slot(&mut self, at: usize) {
        self.slots.swap_remove(at);
        if let Some(entry) = self.slots.get(at).and_then(|moved| self.entries.get_mut(moved.node.name())) {
            entry.at = Some(at);
        }
    }
}

/// Puts a node without a slot in its place; whether that changes anything.
fn update_unlisted(unlisted: &mut Unlisted, name: &str, node: Option<UnlistedNode>) -> bool {
    let records = |node: &UnlistedNode| (node.node.as_ref().map(Arc::as_ptr), Arc::as_ptr(&node.placed));
    match node {
        Some(node) if unlisted.get(name).map(records) != Some(records(&node)) => {
            Arc::make_mut(unlisted).insert(name.into(), node);
            true
        }
        None if unlisted.contains_key(name) => Arc::make_mut(unlisted).remove(name).is_some(),
        _ => false,
    }
}
