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

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

use hashbrown::HashMap as Table;
use plimsoll_core::{Cluster, Namespace, Node, Pod, Pool, Slots, Unlisted};

use self::{
    by_name::{PodByName, PodName},
    entry::NodeEntry,
    namespaces::NamespaceStore,
    reserved_pod::ReservedPod,
};
use super::resource::{Resource, UnreadableObject, WatchedObject};

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
    /// By resource, namespace and name, with the list in which each was last seen.
    ///
    /// The resources of such a pod are not known, so its node is out of view: nothing is placed there.
    unreadable: BTreeMap<(Resource, String, String), (UnreadableObject, u64)>,
    /// By UID: a pod has one reservation at a time.
    reserved: HashMap<Box<str>, ReservedPod>,
    /// The number of reservations so far.
    reservations_made: u64,
    namespaces: NamespaceStore,
    pool: Pool,
    /// The number of lists of each resource that have begun.
    lists: [u64; Resource::ALL.len()],
    /// Nodes whose changes wait to be published.
    dirty: Vec<Arc<str>>,
    slots: Slots,
    /// The pods of the nodes that are not published.
    unlisted: Unlisted,
    cluster: Arc<Cluster>,
}

// === impl ClusterStore ===

impl ClusterStore {
    /// From here on the objects of a list are added.
    pub(crate) fn begin_list(&mut self, resource: Resource) {
        self.lists[resource as usize] += 1;
    }

    /// A list is complete: objects that it did not contain are gone, except reservations that were not settled when it
    /// `began`.
    pub(crate) fn end_list(&mut self, resource: Resource, began: Instant) {
        let list = self.lists[resource as usize];
        self.end_unreadable(resource, list);
        match resource {
            Resource::Nodes => self.end_nodes(list),
            Resource::Pods => self.end_pods(list, began),
            Resource::Namespaces => self.namespaces.end(list),
        }
    }

    /// An object as it is now.
    pub(crate) fn put(&mut self, object: WatchedObject) {
        match object {
            WatchedObject::Node(node) => self.put_node(node),
            WatchedObject::Pod(pod) => self.put_pod(pod),
            WatchedObject::Namespace(namespace) => self.put_namespace(namespace),
            WatchedObject::Unreadable(object) => self.put_unreadable(object),
        }
    }

    /// An object is gone.
    pub(crate) fn remove(&mut self, object: WatchedObject) {
        match object {
            WatchedObject::Node(node) => self.remove_node(node.name()),
            WatchedObject::Pod(pod) => self.remove_pod(&pod),
            WatchedObject::Namespace(namespace) => self.remove_namespace(namespace.name()),
            WatchedObject::Unreadable(object) => self.remove_unreadable(&object),
        }
    }

    fn end_nodes(&mut self, list: u64) {
        let is_gone = |entry: &NodeEntry| entry.node.is_some() && entry.seen < list;
        let gone: Vec<Arc<str>> =
            self.entries.iter().filter(|(_, entry)| is_gone(entry)).map(|(name, _)| Arc::clone(name)).collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A Node as it is now.
    pub(crate) fn put_node(&mut self, node: Node) {
        let (name, seen) = (Arc::clone(node.name()), self.lists[Resource::Nodes as usize]);
        self.forget_unreadable(Resource::Nodes, "", &name);
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
        self.forget_unreadable(Resource::Nodes, "", name);
        if let Some(entry) = self.entries.get_mut(name)
            && entry.node.take().is_some()
        {
            self.mark_dirty(name);
        }
    }

    fn end_pods(&mut self, list: u64, began: Instant) {
        let gone: Vec<Arc<Pod>> =
            self.pods.iter().filter(|(_, seen)| **seen < list).map(|(PodByName(pod), _)| Arc::clone(pod)).collect();
        for pod in gone {
            self.pods.remove(&PodName::of(&pod));
            self.detach(&pod);
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
        self.forget_unreadable(Resource::Pods, pod.namespace(), pod.name());
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
        self.pods.insert(PodByName(pod), self.lists[Resource::Pods as usize]);
    }

    /// A pod is gone, or holds nothing on its node any more.
    pub(crate) fn remove_pod(&mut self, pod: &Pod) {
        self.forget_unreadable(Resource::Pods, pod.namespace(), pod.name());
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

    fn put_namespace(&mut self, namespace: Namespace) {
        self.forget_unreadable(Resource::Namespaces, "", namespace.name());
        self.namespaces.put(namespace, self.lists[Resource::Namespaces as usize]);
    }

    fn remove_namespace(&mut self, name: &str) {
        self.forget_unreadable(Resource::Namespaces, "", name);
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
