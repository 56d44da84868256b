//! What the watches have shown, and what is assumed: becomes one [`Cluster`] after another.
//!
//! Nothing here waits or reads a clock, so any order of events can be tested.

mod home;

use std::{
    collections::{BTreeMap, HashMap},
    hash::{Hash, Hasher},
    sync::Arc,
    time::Instant,
};

use hashbrown::{Equivalent, HashMap as Table};
use plimsoll_core::{Cluster, Node, NotReserved, Pod, Pool, Slot, Slots};

use self::home::Home;

/// Parts of pods that nobody has any more are let go after so many pods.
const PRUNE_EVERY: u32 = 50_000;

/// Nodes, the pods that are bound to them and have not ended, and pods that have a place reserved.
///
/// - A Node or pod that says the same as before stays the same record, and nothing is published.
/// - A node keeps its slot as long as it is there; the last node moves into the slot of one that goes.
/// - The pods of a node are in the order of their creation, then by namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Store {
    homes: HashMap<Arc<str>, Home>,
    /// Every pod that the watch shows as placed, with the list in which it was last seen.
    pods: Table<ByName, u64>,
    /// Pods that cannot be read, by namespace and name, with the list in which each was last seen. What such a pod
    /// holds on its node is not known, so the node is out of sight: nothing is placed there.
    lost: HashMap<(Box<str>, Box<str>), (Pod, u64)>,
    /// By UID: a pod has one reservation at a time.
    reserved: HashMap<Box<str>, Reserved>,
    /// The reservations that were made.
    tickets: u64,
    pool: Pool,
    pods_put: u32,
    /// The lists that have begun.
    node_lists: u64,
    pod_lists: u64,
    /// Homes that wait to be published.
    touched: Vec<Arc<str>>,
    slots: Slots,
    cluster: Arc<Cluster>,
}

/// A reservation's identity: it alone changes or ends the reservation, and no other one of the same pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    uid: Box<str>,
    number: u64,
}

/// A pod that is being bound, or was, and that the watch has not shown yet.
#[derive(Debug)]
struct Reserved {
    number: u64,
    pod: Arc<Pod>,
    /// Lists and reads that began then or later tell what became of it; none while its bind is under way.
    settled: Option<Instant>,
}

// === impl Ticket ===

impl Ticket {
    /// The reservation with this number, which no other has, of the pod with this UID.
    pub fn new(uid: impl Into<Box<str>>, number: u64) -> Self {
        Self { uid: uid.into(), number }
    }

    /// The pod's UID.
    pub fn uid(&self) -> &str {
        &self.uid
    }
}

// === impl Store ===

impl Store {
    /// From here on, what a list of the Nodes has is put.
    pub(crate) fn begin_nodes(&mut self) {
        self.node_lists += 1;
    }

    /// A list of the Nodes is complete: what it did not have is gone.
    pub(crate) fn end_nodes(&mut self) {
        let is_gone = |home: &Home| home.node.is_some() && home.seen < self.node_lists;
        let gone: Vec<Arc<str>> =
            self.homes.iter().filter(|(_, home)| is_gone(home)).map(|(name, _)| Arc::clone(name)).collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    /// A Node as it is now.
    pub(crate) fn put_node(&mut self, node: Node) {
        let (name, seen) = (Arc::clone(node.name()), self.node_lists);
        let home = self.homes.entry(Arc::clone(&name)).or_default();
        home.seen = seen;
        if home.node.as_ref().is_some_and(|own| own.json() == node.json()) {
            return;
        }
        home.node = Some(Arc::new(node));
        self.touch(&name);
    }

    /// A Node is gone.
    pub(crate) fn remove_node(&mut self, name: &str) {
        if let Some(home) = self.homes.get_mut(name)
            && home.node.take().is_some()
        {
            self.touch(name);
        }
    }

    /// From here on, what a list of the pods has is put.
    pub(crate) fn begin_pods(&mut self) {
        self.pod_lists += 1;
    }

    /// A list of the pods is complete: what it did not have is gone, but for reservations that were
    /// not settled when it `began`.
    pub(crate) fn end_pods(&mut self, began: Instant) {
        let list = self.pod_lists;
        let gone: Vec<Arc<Pod>> =
            self.pods.iter().filter(|(_, seen)| **seen < list).map(|(ByName(pod), _)| Arc::clone(pod)).collect();
        for pod in gone {
            self.pods.remove(&Name::of(&pod));
            self.evict(&pod);
        }
        let gone: Vec<Pod> = self.lost.values().filter(|(_, seen)| *seen < list).map(|(pod, _)| pod.clone()).collect();
        for pod in &gone {
            self.find_pod(pod);
        }
        let refuted: Vec<Box<str>> = self
            .reserved
            .iter()
            .filter(|(_, reserved)| reserved.settled.is_some_and(|settled| settled < began))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in refuted {
            self.vacate(&uid);
        }
        self.pool.prune();
    }

    /// A pod as it is now; one that is bound to no node, or has ended, is not kept.
    pub(crate) fn put_pod(&mut self, pod: Pod) {
        self.find_pod(&pod);
        if pod.node().is_none() || pod.finished() {
            self.remove_pod(&pod);
            return;
        }
        let pod = self.pool.share(pod);
        let shown = self.pods.remove_entry(&Name::of(&pod)).map(|(ByName(pod), _)| pod);
        // The watch shows it on a node: there it stays, whatever its reservation says.
        let reserved = self.reserved.remove(pod.uid()).map(|reserved| reserved.pod);
        let before = [shown, reserved];
        let same = before.iter().flatten().find(|old| ***old == pod).cloned();
        let pod = same.unwrap_or_else(|| Arc::new(pod));
        for old in before.iter().flatten().filter(|old| !Arc::ptr_eq(old, &pod)) {
            self.evict(old);
        }
        self.settle(&pod);
        self.pods.insert(ByName(pod), self.pod_lists);
        self.pods_put += 1;
        if self.pods_put >= PRUNE_EVERY {
            self.pods_put = 0;
            self.pool.prune();
        }
    }

    /// A pod is gone, or holds nothing on its node any more.
    pub(crate) fn remove_pod(&mut self, pod: &Pod) {
        self.find_pod(pod);
        let name = Name::of(pod);
        let shown = self.pods.get_key_value(&name).filter(|(ByName(shown), _)| shown.uid() == pod.uid());
        if let Some(shown) = shown.map(|(ByName(shown), _)| Arc::clone(shown)) {
            self.pods.remove(&name);
            self.evict(&shown);
        }
        // One that is not bound is what the watch showed before it was.
        if pod.node().is_some() {
            self.vacate(pod.uid());
        }
    }

    /// A pod cannot be read as it is now: what was known of it holds no more, and its node is out of sight.
    pub(crate) fn lose_pod(&mut self, pod: Pod) {
        // A pod keeps its node for life, so what was last known of that holds.
        let pod = match self.node_of(&pod) {
            Some(node) if pod.node().is_none() => pod.placed_on(&node, &BTreeMap::new()),
            _ => pod,
        };
        self.remove_pod(&pod);
        if let Some(node) = pod.node() {
            let node: Arc<str> = node.into();
            self.homes.entry(Arc::clone(&node)).or_default().lost += 1;
            self.touch(&node);
        }
        self.lost.insert((pod.namespace().into(), pod.name().into()), (pod, self.pod_lists));
    }

    /// The node that a pod names, or that it was last seen on.
    pub(crate) fn node_of(&self, pod: &Pod) -> Option<Arc<str>> {
        let is_same = |other: &Pod| pod.uid().is_empty() || other.uid() == pod.uid();
        let shown = || self.pods.get_key_value(&Name::of(pod)).map(|(ByName(shown), _)| shown.as_ref());
        let reserved = || self.reserved.get(pod.uid()).map(|reserved| reserved.pod.as_ref());
        let lost = || self.lost.get(&(pod.namespace().into(), pod.name().into())).map(|(lost, _)| lost);
        let known = || shown().or_else(lost).filter(|other| is_same(other)).or_else(reserved);
        pod.node().or_else(|| known()?.node()).map(Arc::from)
    }

    /// A pod can be read, or is gone: if it is one that could not be read, its node comes back into sight.
    fn find_pod(&mut self, pod: &Pod) {
        if self.lost.is_empty() {
            return;
        }
        let Some((lost, _)) = self.lost.remove(&(pod.namespace().into(), pod.name().into())) else { return };
        if let Some(node) = lost.node()
            && let Some(home) = self.homes.get_mut(node)
        {
            home.lost = home.lost.saturating_sub(1);
            self.touch(node);
        }
    }

    /// Whether the node was last published like this; nothing may wait to be published.
    pub(crate) fn shows(&self, node: &str, seen: &Slot) -> bool {
        let at = self.homes.get(node).and_then(|home| home.at);
        at.and_then(|at| self.slots.get(at)).is_some_and(|slot| is_same(slot, seen))
    }

    /// A pod gets a place: it counts from now on, until the watch shows it or its end, or its ticket says so.
    ///
    /// The pod names its node and has the annotations of its binding: see [`Pod::placed_on`].
    pub(crate) fn reserve(&mut self, pod: Arc<Pod>) -> Result<Ticket, NotReserved> {
        let node_of = |pod: &Pod| pod.node().unwrap_or_default().into();
        let shown = self.pods.get_key_value(&Name::of(&pod)).filter(|(ByName(own), _)| own.uid() == pod.uid());
        if let Some((ByName(shown), _)) = shown {
            return Err(NotReserved::Placed(node_of(shown)));
        }
        if let Some(earlier) = self.reserved.get(pod.uid()) {
            return Err(NotReserved::Undecided(node_of(&earlier.pod)));
        }
        self.tickets += 1;
        let ticket = Ticket::new(pod.uid(), self.tickets);
        self.settle(&pod);
        self.reserved.insert(ticket.uid.clone(), Reserved { number: ticket.number, pod, settled: None });
        Ok(ticket)
    }

    /// Nothing of this bind is under way after that moment: a list or a read that begins later tells what
    /// became of it. With a `pod`, that is how it was read, and where.
    pub(crate) fn conclude(&mut self, ticket: &Ticket, pod: Option<Arc<Pod>>, settled: Instant) {
        let Some(reserved) = self.reserved.get_mut(&ticket.uid).filter(|own| own.number == ticket.number) else {
            return;
        };
        reserved.settled = Some(settled);
        if let Some(pod) = pod.filter(|pod| pod.node().is_some()) {
            let before = std::mem::replace(&mut reserved.pod, Arc::clone(&pod));
            self.evict(&before);
            self.settle(&pod);
        }
    }

    /// The pod was not bound by the bind with this ticket, and will not be.
    pub(crate) fn release(&mut self, ticket: &Ticket) {
        if self.reserved.get(&ticket.uid).is_some_and(|own| own.number == ticket.number) {
            self.vacate(&ticket.uid);
        }
    }

    /// The pod was read by a request that `began` then: that tells what became of a bind that was settled.
    pub(crate) fn observe(&mut self, pod: &Pod, began: Instant) {
        let own = self.reserved.get(pod.uid());
        let Some(own) = own.filter(|own| own.settled.is_some_and(|settled| settled <= began)) else { return };
        let ticket = Ticket::new(pod.uid(), own.number);
        match pod.node() {
            Some(node) => {
                let placed = Arc::new(pod.placed_on(node, &BTreeMap::new()));
                self.conclude(&ticket, Some(placed), began);
            }
            None => self.release(&ticket),
        }
    }

    /// How many pods have a place that the watch does not show.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.len()
    }

    /// Since when the oldest reservation waits for the watch; those whose bind is under way do not.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        self.reserved.values().filter_map(|reserved| reserved.settled).min()
    }

    /// Takes the pod with this UID off the place that it has reserved.
    fn vacate(&mut self, uid: &str) {
        if let Some(reserved) = self.reserved.remove(uid) {
            self.evict(&reserved.pod);
        }
    }

    /// The cluster as it was last published.
    pub(crate) fn published(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// The cluster as it is now, if that is another one than before.
    pub(crate) fn publish(&mut self) -> Option<Arc<Cluster>> {
        let mut is_news = false;
        for name in std::mem::take(&mut self.touched) {
            is_news |= self.update_slot(&name);
        }
        if !is_news {
            return None;
        }
        let place = |reserved: &Reserved| Some((reserved.pod.uid().into(), reserved.pod.node()?.into()));
        let reserved = Arc::new(self.reserved.values().filter_map(place).collect());
        self.cluster = Arc::new(self.cluster.successor(self.slots.clone()).with_reserved(reserved));
        Some(Arc::clone(&self.cluster))
    }

    /// Puts a pod on its node.
    fn settle(&mut self, pod: &Arc<Pod>) {
        let Some(node) = pod.node() else { return };
        if !self.homes.contains_key(node) {
            self.homes.insert(node.into(), Home::default());
        }
        if self.homes.get_mut(node).is_some_and(|home| home.add(pod)) {
            self.touch(node);
        }
    }

    /// Takes a pod off its node.
    fn evict(&mut self, pod: &Pod) {
        let Some(node) = pod.node() else { return };
        if let Some(home) = self.homes.get_mut(node) {
            home.remove(pod);
            self.touch(node);
        }
    }

    fn touch(&mut self, name: &str) {
        if let Some((name, home)) = self.homes.get_key_value(name)
            && !home.touched
        {
            self.touched.push(Arc::clone(name));
        }
        if let Some(home) = self.homes.get_mut(name) {
            home.touched = true;
        }
    }

    /// Brings one home up to date in the slots; whether that changes them.
    fn update_slot(&mut self, name: &str) -> bool {
        let Some(home) = self.homes.get_mut(name) else { return false };
        home.touched = false;
        match (home.slot(home.at.and_then(|at| self.slots.get(at))), home.at) {
            (Some(slot), Some(at)) => {
                let is_news = self.slots.get(at).is_none_or(|old| !is_same(old, &slot));
                if is_news {
                    self.slots.replace(at, slot);
                }
                is_news
            }
            (Some(slot), None) => {
                home.at = Some(self.slots.len());
                self.slots.push(slot);
                true
            }
            (None, at) => {
                home.at = None;
                if home.is_void() {
                    self.homes.remove(name);
                }
                at.inspect(|at| self.vacate_slot(*at)).is_some()
            }
        }
    }

    /// Takes a slot away; the last one moves into its place.
    fn vacate_slot(&mut self, at: usize) {
        self.slots.swap_remove(at);
        if let Some(home) = self.slots.get(at).and_then(|moved| self.homes.get_mut(moved.node.name())) {
            home.at = Some(at);
        }
    }
}

fn is_same(a: &Slot, b: &Slot) -> bool {
    let is_placed_same = match (&a.placed, &b.placed) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    Arc::ptr_eq(&a.node, &b.node) && is_placed_same
}

/// A pod in the table: there is one of a name at a time.
#[derive(Debug)]
struct ByName(Arc<Pod>);

/// What it is found by.
#[derive(PartialEq, Eq, Hash)]
struct Name<'a> {
    namespace: &'a str,
    name: &'a str,
}

// === impl Name ===

impl<'a> Name<'a> {
    fn of(pod: &'a Pod) -> Self {
        Self { namespace: pod.namespace(), name: pod.name() }
    }
}

impl Equivalent<ByName> for Name<'_> {
    fn equivalent(&self, pod: &ByName) -> bool {
        *self == Name::of(&pod.0)
    }
}

// === impl ByName ===

impl PartialEq for ByName {
    fn eq(&self, other: &Self) -> bool {
        Name::of(&self.0) == Name::of(&other.0)
    }
}

impl Eq for ByName {}

impl Hash for ByName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Name::of(&self.0).hash(state);
    }
}

#[cfg(test)]
mod tests;
