//! The objects from the watches and the reserved pods; publishes a new [`Cluster`] after each change.
//!
//! Nothing here waits or reads a clock, so any order of events can be tested.

mod claims;
mod entry;
mod named;
mod publishing;
mod reservations;
mod waiting;

use std::{
    borrow::Borrow,
    collections::{BTreeSet, HashMap},
    hash::{Hash, Hasher},
    sync::Arc,
    time::Instant,
};

use plimsoll_core::{Cluster, DeviceClass, Namespace, Node, Pod, Pool, Slots, Unlisted, WaitingChange};

use self::{claims::ClaimStore, entry::NodeEntry, named::NamedStore};
use super::resource::{Resource, WatchedObject};

/// Nodes, the pods that are bound to them and have not ended, reserved pods, and nominated ones.
///
/// - One pod is on one node: where it is placed, else where it is reserved, perhaps tentatively, else where it is
///   nominated.
/// - An unchanged Node or pod stays the same record, and nothing is published.
/// - A node keeps its slot as long as it exists; the last node moves into the slot of a removed one.
/// - The pods of a node are in the order of their creation, then by namespace and name.
/// - Of an object that cannot be read the last known state is no longer valid. The resources of such a pod are not
///   known, so its node is out of view: nothing is placed there.
#[derive(Debug, Default)]
pub(crate) struct ClusterStore {
    entries: HashMap<Arc<str>, NodeEntry>,
    /// Every pod that the watch shows as placed, with the list in which it was last seen.
    pods: HashMap<PodByUid, u64>,
    /// By UID: a pod has one reservation at a time.
    reserved: HashMap<Box<str>, ReservedPod>,
    /// The UID of every pod that the watch shows without a node, with the list in which it was last seen.
    waiting: HashMap<Box<str>, u64>,
    /// What the watch of waiting pods has shown, to be told.
    waiting_changes: Vec<WaitingChange>,
    /// By UID; none of them is placed.
    nominated: HashMap<Box<str>, NominatedPod>,
    /// Whether their watch has gone silent, so that none of them counts.
    hides_nominated: bool,
    /// The number of reservations so far.
    reservations_made: u64,
    namespaces: NamedStore<Namespace>,
    device_classes: NamedStore<DeviceClass>,
    claims: ClaimStore,
    pool: Pool,
    /// The number of lists of each resource that have begun.
    lists: [u64; Resource::ALL.len()],
    /// Nodes whose changes wait to be published.
    dirty: BTreeSet<Arc<str>>,
    /// Whether a forwarded or tentative place has begun or ended since the last publication: perhaps no slot shows it.
    has_changed_uncertain: bool,
    slots: Slots,
    /// The pods of the nodes that are not published.
    unlisted: Unlisted,
    cluster: Arc<Cluster>,
}

/// A reservation's identity: it alone changes or ends the reservation, and no other one of the same pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReservationId {
    uid: Box<str>,
    number: u64,
}

/// A pod that is being bound, or was, or may be, and that the watch has not shown yet.
#[derive(Debug)]
struct ReservedPod {
    number: u64,
    pod: Arc<Pod>,
    bind: BindState,
}

/// A pod that the watch shows as nominated, or has shown until just now.
#[derive(Debug)]
struct NominatedPod {
    pod: Arc<Pod>,
    /// When it has left the watch.
    left: Option<Instant>,
}

/// The bind of a reserved pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BindState {
    /// It is in progress.
    Open,
    /// It is over: reads and lists that began later show its outcome.
    Settled(Instant),
    /// Another replica decides about it.
    Forwarded,
    /// It has not begun; the pod keeps its place until then.
    Tentative(Instant),
}

/// A pod as a key: its UID, which the pod itself holds, so that none is stored twice.
#[derive(Debug)]
struct PodByUid(Arc<Pod>);

// === impl ClusterStore ===

impl ClusterStore {
    /// From here on the objects of a list are added.
    pub(crate) fn begin_list(&mut self, resource: Resource) {
        self.lists[resource as usize] += 1;
        if resource == Resource::Claims {
            self.claims.begin();
        }
    }

    /// A list is complete: objects that it did not contain are gone, except reservations that were not settled when it
    /// `began`.
    pub(crate) fn end_list(&mut self, resource: Resource, began: Instant) {
        let list = self.lists[resource as usize];
        match resource {
            Resource::Nodes => self.end_nodes(list),
            Resource::Pods => self.end_pods(list, began),
            Resource::Waiting => self.end_waiting(list, began),
            Resource::Namespaces => self.namespaces.end(list),
            Resource::DeviceClasses => self.device_classes.end(list),
            Resource::Claims => self.claims.end(),
        }
    }

    /// An object as it is now.
    pub(crate) fn put(&mut self, object: WatchedObject) {
        match object {
            WatchedObject::Node(name, node) => self.put_node(name, node),
            WatchedObject::Pod(pod, is_readable) => self.put_pod(pod, is_readable),
            WatchedObject::Waiting(uid, read) => self.put_waiting(uid, read),
            WatchedObject::Namespace(name, namespace) => {
                self.namespaces.put(name, namespace, self.lists[Resource::Namespaces as usize]);
            }
            WatchedObject::DeviceClass(name, class) => {
                self.device_classes.put(name, class, self.lists[Resource::DeviceClasses as usize]);
            }
            WatchedObject::Claim(claim) => self.claims.set(&claim, claim.is_bound()),
        }
    }

    /// An object is gone now.
    pub(crate) fn remove(&mut self, object: WatchedObject, now: Instant) {
        match object {
            WatchedObject::Node(name, _) => self.remove_node(&name),
            WatchedObject::Pod(pod, _) => self.remove_pod(&pod),
            WatchedObject::Waiting(uid, _) => self.leave_waiting(uid, now),
            WatchedObject::Namespace(name, _) => self.namespaces.remove(&name),
            WatchedObject::DeviceClass(name, _) => self.device_classes.remove(&name),
            WatchedObject::Claim(claim) => self.claims.set(&claim, false),
        }
    }

    /// The numbers of the Nodes and of the pods that cannot be read.
    pub(crate) fn unreadable(&self) -> (usize, usize) {
        let nodes = self.entries.values().filter(|entry| entry.is_unreadable).count();
        (nodes, self.entries.values().map(|entry| entry.unreadable.len()).sum())
    }

    fn end_nodes(&mut self, list: u64) {
        let is_gone = |entry: &NodeEntry| (entry.node.is_some() || entry.is_unreadable) && entry.seen < list;
        let gone: Vec<Arc<str>> =
            self.entries.iter().filter(|(_, entry)| is_gone(entry)).map(|(name, _)| Arc::clone(name)).collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A Node as it is now; none: it cannot be read.
    fn put_node(&mut self, name: Arc<str>, node: Option<Node>) {
        let entry = self.entries.entry(Arc::clone(&name)).or_default();
        (entry.seen, entry.is_unreadable) = (self.lists[Resource::Nodes as usize], node.is_none());
        if entry.node.as_ref().map(|known| known.json()) != node.as_ref().map(Node::json) {
            entry.node = node.map(Arc::new);
            self.dirty.insert(name);
        }
    }

    /// A Node is gone.
    fn remove_node(&mut self, name: &str) {
        if let Some(entry) = self.entries.get_mut(name) {
            (entry.node, entry.is_unreadable) = (None, false);
            self.dirty.insert(name.into());
        }
    }

    fn end_pods(&mut self, list: u64, began: Instant) {
        let gone: Vec<_> = self.pods.extract_if(|_, seen| *seen < list).collect();
        for (PodByUid(pod), _) in gone {
            self.detach(&pod);
        }
        let not_bound = self.reserved.iter().filter(|(_, reserved)| reserved.is_settled_before(began));
        for uid in not_bound.map(|(uid, _)| uid.clone()).collect::<Vec<_>>() {
            self.end_reservation(&uid);
        }
        self.pool.prune();
    }

    /// A pod as it is now; one that is bound to no node, or has ended, is not kept.
    fn put_pod(&mut self, pod: Pod, is_readable: bool) {
        if pod.node().is_none() || pod.finished() {
            self.remove_pod(&pod);
            return;
        }
        self.end_nomination(pod.uid());
        let pod = self.pool.share(pod);
        let shown = self.pods.remove_entry(pod.uid()).map(|(PodByUid(pod), _)| pod);
        // The watch shows it on a node: that is final, regardless of its reservation.
        let reserved = self.reserved.remove(pod.uid());
        self.has_changed_uncertain |= reserved.as_ref().is_some_and(|reserved| !reserved.is_certain());
        let before = [shown, reserved.map(|reserved| reserved.pod)];
        let same = before.iter().flatten().find(|old| is_readable && ***old == pod).cloned();
        let pod = same.unwrap_or_else(|| Arc::new(pod));
        for old in before.iter().flatten().filter(|old| !Arc::ptr_eq(old, &pod)) {
            self.detach(old);
        }
        self.attach(&pod, is_readable);
        self.pods.insert(PodByUid(pod), self.lists[Resource::Pods as usize]);
    }

    /// A pod is gone, or holds nothing on its node any more.
    fn remove_pod(&mut self, pod: &Pod) {
        if let Some((PodByUid(shown), _)) = self.pods.remove_entry(pod.uid()) {
            self.detach(&shown);
        }
        // An event without a node is from before the bind.
        if pod.node().is_some() {
            self.end_nomination(pod.uid());
            self.end_reservation(pod.uid());
        }
    }

    /// Puts a pod on its node.
    fn attach(&mut self, pod: &Arc<Pod>, is_readable: bool) {
        let Some(node) = pod.node() else { return };
        let node = Arc::<str>::from(node);
        if self.entries.entry(Arc::clone(&node)).or_default().add(pod, is_readable) {
            self.dirty.insert(node);
        }
    }

    /// Takes a pod off its node.
    fn detach(&mut self, pod: &Pod) {
        let Some(node) = pod.node() else { return };
        if let Some(entry) = self.entries.get_mut(node) {
            entry.remove(pod);
            self.dirty.insert(node.into());
        }
    }
}

// === impl ReservedPod ===

impl ReservedPod {
    /// Whether a read or a list that `began` then shows the outcome of the bind. One that began at the very moment may have
    /// been sent before it: the clock has steps.
    fn is_settled_before(&self, began: Instant) -> bool {
        match self.bind {
            BindState::Open | BindState::Tentative(_) => false,
            BindState::Settled(settled) => settled < began,
            BindState::Forwarded => true,
        }
    }

    /// Whether a bind of this replica has it.
    fn is_certain(&self) -> bool {
        matches!(self.bind, BindState::Open | BindState::Settled(_))
    }

    /// The end of a tentative place.
    fn until(&self) -> Option<Instant> {
        if let BindState::Tentative(until) = self.bind { Some(until) } else { None }
    }
}

// === impl PodByUid ===

impl Borrow<str> for PodByUid {
    fn borrow(&self) -> &str {
        self.0.uid()
    }
}

impl PartialEq for PodByUid {
    fn eq(&self, other: &Self) -> bool {
        self.0.uid() == other.0.uid()
    }
}

impl Eq for PodByUid {}

impl Hash for PodByUid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.uid().hash(state);
    }
}

#[cfg(test)]
mod tests;
