//! The objects from the watches and the reserved pods; publishes a new [`Cluster`] after each change.
//!
//! Nothing here waits or reads a clock, so any order of events can be tested.

mod by_name;
mod entry;
mod namespaces;
mod publishing;
mod reservations;
mod reserved_pod;
mod unreadable;

use std::{collections::HashMap, sync::Arc, time::Instant};

use hashbrown::HashMap as Table;
use plimsoll_core::{Cluster, Namespace, Node, Pod, Pool, Slots, Unlisted};

use self::{
    by_name::{PodByName, PodName},
    entry::NodeEntry,
    namespaces::NamespaceStore,
    reserved_pod::ReservedPod,
};

pub use self::reserved_pod::ReservationId;

/// Nodes, the pods that are bound to them and have not ended, and reserved pods.
///
/// - An unchanged Node or pod stays the same record, and nothing is published.
/// - A node keeps its slot as long as it exists; the last node moves into the slot of a removed one.
/// - The pods of a node are in the order of their creation, then by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct ClusterStore {
    entries: HashMap<Arc<str>, NodeEntry>,
    /// Every pod that the watch shows as placed, with the list in which it was last seen.
    pods: Table<PodByName, u64>,
    /// Pods that cannot be read, by namespace and name, with the list in which each was last seen. The resources of such a
    /// pod are not known, so its node is out of view: nothing is placed there.
    unreadable: HashMap<(Box<str>, Box<str>), (Pod, u64)>,
    /// By UID: a pod has one reservation at a time.
    reserved: HashMap<Box<str>, ReservedPod>,
    /// The number of reservations so far.
    reservations_made: u64,
    namespaces: NamespaceStore,
    pool: Pool,
    /// The numbers of lists that have begun.
    node_lists: u64,
    pod_lists: u64,
    /// Nodes whose changes wait to be published.
    dirty: Vec<Arc<str>>,
    slots: Slots,
    /// The pods of the nodes that are not published.
    unlisted: Unlisted,
    cluster: Arc<Cluster>,
}

// === impl ClusterStore ===

impl ClusterStore {
    /// From here on the Nodes of a list are added.
    pub(crate) fn begin_nodes(&mut self) {
        self.node_lists += 1;
    }

    /// A list of the Nodes is complete: Nodes that it did not contain are gone.
    pub(crate) fn end_nodes(&mut self) {
        let is_gone = |entry: &NodeEntry| entry.node.is_some() && entry.seen < self.node_lists;
        let gone: Vec<Arc<str>> =
            self.entries.iter().filter(|(_, entry)| is_gone(entry)).map(|(name, _)| Arc::clone(name)).collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A Node as it is now.
    pub(crate) fn put_node(&mut self, node: Node) {
        let (name, seen) = (Arc::clone(node.name()), self.node_lists);
        let entry = self.entries.entry(Arc::clone(&name)).or_default();
        entry.seen = seen;
        if entry.node.as_ref().is_some_and(|own| own.json() == node.json()) {
            return;
        }
        entry.node = Some(Arc::new(node));
        self.mark_dirty(&name);
    }

    /// A Node is gone.
    pub(crate) fn remove_node(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name)
            && entry.node.take().is_some()
        {
            self.mark_dirty(name);
        }
    }

    /// From here on the pods of a list are added.
    pub(crate) fn begin_pods(&mut self) {
        self.pod_lists += 1;
    }

    /// A list of the pods is complete: pods that it did not contain are gone, except reservations that were
    /// not settled when it `began`.
    pub(crate) fn end_pods(&mut self, began: Instant) {
        let list = self.pod_lists;
        let gone: Vec<Arc<Pod>> =
            self.pods.iter().filter(|(_, seen)| **seen < list).map(|(PodByName(pod), _)| Arc::clone(pod)).collect();
        for pod in gone {
            self.pods.remove(&PodName::of(&pod));
            self.detach(&pod);
        }
        let gone: Vec<Pod> =
            self.unreadable.values().filter(|(_, seen)| *seen < list).map(|(pod, _)| pod.clone()).collect();
        for pod in &gone {
            self.forget_unreadable(pod);
        }
        let not_bound: Vec<Box<str>> = self
            .reserved
            .iter()
            .filter(|(_, reserved)| reserved.is_settled_before(began))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in not_bound {
            self.end_reservation(&uid);
        }
        self.pool.prune();
    }

    /// A pod as it is now; one that is bound to no node, or has ended, is not kept.
    pub(crate) fn put_pod(&mut self, pod: Pod) {
        self.forget_unreadable(&pod);
        if pod.node().is_none() || pod.finished() {
            self.remove_pod(&pod);
            return;
        }
        let pod = self.pool.share(pod);
        let shown = self.pods.remove_entry(&PodName::of(&pod)).map(|(PodByName(pod), _)| pod);
        // The watch shows it on a node: that is final, regardless of its reservation.
        let reserved = self.reserved.remove(pod.uid()).map(|reserved| reserved.pod);
        let before = [shown, reserved];
        let same = before.iter().flatten().find(|old| ***old == pod).cloned();
        let pod = same.unwrap_or_else(|| Arc::new(pod));
        for old in before.iter().flatten().filter(|old| !Arc::ptr_eq(old, &pod)) {
            self.detach(old);
        }
        self.attach(&pod);
        self.pods.insert(PodByName(pod), self.pod_lists);
    }

    /// A pod is gone, or holds nothing on its node any more.
    pub(crate) fn remove_pod(&mut self, pod: &Pod) {
        self.forget_unreadable(pod);
        let name = PodName::of(pod);
        let shown = self.pods.get_key_value(&name).filter(|(PodByName(shown), _)| shown.uid() == pod.uid());
        if let Some(shown) = shown.map(|(PodByName(shown), _)| Arc::clone(shown)) {
            self.pods.remove(&name);
            self.detach(&shown);
        }
        // An event without a node is from before the bind.
        if pod.node().is_some() {
            self.end_reservation(pod.uid());
        }
    }

    /// From here on the namespaces of a list are added.
    pub(crate) fn begin_namespaces(&mut self) {
        self.namespaces.begin();
    }

    /// A list of the namespaces is complete: those that it did not contain are gone.
    pub(crate) fn end_namespaces(&mut self) {
        self.namespaces.end();
    }

    /// A namespace as it is now.
    pub(crate) fn put_namespace(&mut self, namespace: Namespace) {
        self.namespaces.put(namespace);
    }

    /// A namespace is gone, or cannot be read.
    pub(crate) fn remove_namespace(&mut self, name: &str) {
        self.namespaces.remove(name);
    }

    /// Puts a pod on its node.
    fn attach(&mut self, pod: &Arc<Pod>) {
        let Some(node) = pod.node() else { return };
        if !self.entries.contains_key(node) {
            self.entries.insert(node.into(), NodeEntry::default());
        }
        if self.entries.get_mut(node).is_some_and(|entry| entry.add(pod)) {
            self.mark_dirty(node);
        }
    }

    /// Takes a pod off its node.
    fn detach(&mut self, pod: &Pod) {
        let Some(node) = pod.node() else { return };
        if let Some(entry) = self.entries.get_mut(node) {
            entry.remove(pod);
            self.mark_dirty(node);
        }
    }

    fn mark_dirty(&mut self, name: &str) {
        if let Some((name, entry)) = self.entries.get_key_value(name)
            && !entry.dirty
        {
            self.dirty.push(Arc::clone(name));
        }
        if let Some(entry) = self.entries.get_mut(name) {
            entry.dirty = true;
        }
    }
}

#[cfg(test)]
mod tests;
