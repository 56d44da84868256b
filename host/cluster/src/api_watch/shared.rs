//! The state that the watches, the publisher and the callers share, and when it is published.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};
use plimsoll_core::{Cluster, WaitingChange};
use tokio::sync::{Notify, watch};
use tracing::warn;

use super::{
    resource::{Resource, WatchedObject},
    status::{ResourceStatus, WatchStatus},
    store::ClusterStore,
};
use crate::clock;

/// The time that the watch may fail to show a bound pod before a list is requested.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_mins(1);

/// What the watches know, and how to tell it.
pub(super) struct Shared {
    view: Mutex<View>,
    publish: Box<dyn Fn(Arc<Cluster>) + Send + Sync>,
    waiting: Box<dyn Fn(WaitingChange) + Send + Sync>,
    /// Silence of the watch of waiting pods after which nominated pods do not count.
    max_staleness: Duration,
    /// Wakes the publisher.
    pub(super) changed: Notify,
    /// The rounds of lists of the view, for those who wait for one.
    rounds: watch::Sender<Rounds>,
}

/// The store, and what is known about it.
struct View {
    store: ClusterStore,
    rounds: Rounds,
    is_published: bool,
    status: [ResourceStatus; Resource::ALL.len()],
}

/// Rounds of lists, by number: the first begins at the start, another one with each request for fresh lists.
#[derive(Debug, Clone, Copy)]
struct Rounds {
    requested: u64,
    /// The last round whose list of each resource is complete.
    complete: [u64; Resource::ALL.len()],
}

// === impl Shared ===

impl Shared {
    pub(super) fn new(
        max_staleness: Duration,
        publish: impl Fn(Arc<Cluster>) + Send + Sync + 'static,
        waiting: impl Fn(WaitingChange) + Send + Sync + 'static,
    ) -> Self {
        let rounds = Rounds { requested: 1, complete: [0; Resource::ALL.len()] };
        let status = Resource::ALL.map(|resource| ResourceStatus::new(resource.name()));
        let view = View { store: ClusterStore::default(), rounds, is_published: false, status };
        let (publish, waiting, rounds) = (Box::new(publish), Box::new(waiting), watch::Sender::new(rounds));
        Self { view: Mutex::new(view), publish, waiting, max_staleness, changed: Notify::new(), rounds }
    }

    /// Publishes the changes so far, and then those of an action, which may use the published cluster.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut ClusterStore) -> T) -> T {
        let mut view = self.view.lock();
        view.publish(&self.publish);
        let changed = change(&mut view.store);
        view.publish(&self.publish);
        changed
    }

    /// Ends the places that are over, and lets no nominated pod count while their watch is stale; returns when to look
    /// again.
    pub(super) fn end_overdue(&self) -> Option<Instant> {
        let mut view = self.view.lock();
        let now = clock::now();
        let stale = view.status[Resource::Waiting as usize].alive.checked_add(self.max_staleness);
        if stale.is_some_and(|stale| stale <= now) {
            view.store.count_nominated(false);
        }
        let next = view.store.end_overdue(now);
        view.publish(&self.publish);
        next.into_iter().chain(stale.filter(|stale| *stale > now)).min()
    }

    pub(super) fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(self.view.lock().store.published())
    }

    /// A list begins; the round that it is part of.
    pub(super) fn begin_list(&self, resource: Resource) -> u64 {
        let mut view = self.view.lock();
        view.store.begin_list(resource);
        view.rounds.requested
    }

    /// Objects of a list.
    pub(super) fn page(&self, resource: Resource, objects: Vec<WatchedObject>) {
        let mut view = self.view.lock();
        view.alive(resource);
        for object in objects {
            view.store.put(object);
        }
        self.tell(view);
    }

    /// An object of a watch.
    pub(super) fn event(&self, resource: Resource, object: WatchedObject, is_deleted: bool) {
        let mut view = self.view.lock();
        view.alive(resource).events += 1;
        if is_deleted {
            view.store.remove(object, clock::now());
        } else {
            view.store.put(object);
        }
        self.tell(view);
    }

    /// A watch has begun, or a bookmark says that nothing happened.
    pub(super) fn well(&self, resource: Resource) {
        let mut view = self.view.lock();
        view.alive(resource).trouble = None;
        self.tell(view);
    }

    /// Gives up the lock and tells what has changed: at once of waiting pods, in order, since one task follows them; the
    /// publisher tells the rest.
    fn tell(&self, mut view: MutexGuard<'_, View>) {
        let changes = view.store.take_waiting_changes();
        drop(view);
        changes.into_iter().for_each(&self.waiting);
        self.changed.notify_one();
    }

    /// A list is complete that began then, as part of this round.
    pub(super) fn end_list(&self, resource: Resource, began: Instant, round: u64) {
        let mut view = self.view.lock();
        view.store.end_list(resource, began);
        let status = view.alive(resource);
        (status.is_listed, status.trouble) = (true, None);
        self.complete(&mut view, resource, round);
        self.tell(view);
    }

    /// A list or a watch has failed.
    pub(super) fn failed(&self, resource: Resource, why: String) {
        let mut view = self.view.lock();
        let status = &mut view.status[resource as usize];
        (status.failures, status.trouble) = (status.failures + 1, Some(why));
        if !resource.is_required() {
            self.complete(&mut view, resource, 1);
        }
    }

    /// Publishes, and then wakes those who wait for the round.
    fn complete(&self, view: &mut View, resource: Resource, round: u64) {
        let complete = &mut view.rounds.complete[resource as usize];
        *complete = round.max(*complete);
        view.publish(&self.publish);
        self.rounds.send_replace(view.rounds);
    }

    /// Requests a list of each resource; its round.
    fn request_lists(&self, view: &mut View) -> u64 {
        view.rounds.requested += 1;
        self.rounds.send_replace(view.rounds);
        view.rounds.requested
    }

    /// Waits until a list is requested that has not been made.
    pub(super) async fn list_wanted(&self, resource: Resource) {
        self.wait_for(|rounds| rounds.complete[resource as usize] < rounds.requested).await;
    }

    /// Waits until all lists are complete that the first cluster needs.
    pub(super) async fn synced(&self) {
        self.wait_for(Rounds::is_synced).await;
    }

    /// Lists all resources again; waits for those that are required.
    pub(super) async fn relist(&self) {
        let round = self.request_lists(&mut self.view.lock());
        self.wait_for(|rounds| rounds.is_complete(round)).await;
    }

    async fn wait_for(&self, is_reached: impl Fn(&Rounds) -> bool) {
        // An error: the sender is gone. It lives as long as `self`.
        let _ = self.rounds.subscribe().wait_for(is_reached).await;
    }

    /// Requests new lists if the watch has not shown a bound pod for too long: they show its outcome.
    pub(super) fn relist_if_overdue(&self) {
        let mut view = self.view.lock();
        let since = view.store.oldest_unconfirmed();
        let is_overdue = since.is_some_and(|since| clock::now().saturating_duration_since(since) > UNCONFIRMED_TIMEOUT);
        if is_overdue && view.rounds.is_complete(view.rounds.requested) {
            warn!("a pod was bound {UNCONFIRMED_TIMEOUT:?} ago, and the watch has not shown it: listing again");
            self.request_lists(&mut view);
        }
    }

    pub(super) fn status(&self) -> WatchStatus {
        let view = self.view.lock();
        let [mut nodes, mut pods, waiting, namespaces, device_classes, claims] = view.status.clone();
        (nodes.unreadable_now, pods.unreadable_now) = view.store.unreadable();
        let (reserved, is_published) = (view.store.reserved(), view.is_published);
        WatchStatus { nodes, pods, waiting, namespaces, device_classes, claims, reserved, is_published }
    }
}

// === impl View ===

impl View {
    /// Publishes the changes, once the first lists are complete.
    fn publish(&mut self, publish: &(dyn Fn(Arc<Cluster>) + Send + Sync)) {
        if !self.rounds.is_synced() {
            return;
        }
        let news = self.store.publish();
        let first = (!self.is_published).then(|| Arc::clone(self.store.published()));
        if let Some(cluster) = news.or(first) {
            self.is_published = true;
            publish(cluster);
        }
    }

    /// The API server has given a sign of life; the status of its watch.
    fn alive(&mut self, resource: Resource) -> &mut ResourceStatus {
        if resource == Resource::Waiting {
            self.store.count_nominated(true);
        }
        let status = &mut self.status[resource as usize];
        status.alive = clock::now();
        status
    }
}

// === impl Rounds ===

impl Rounds {
    fn is_synced(&self) -> bool {
        self.complete.iter().all(|round| *round >= 1)
    }

    /// Whether the required lists of a round are complete.
    fn is_complete(&self, round: u64) -> bool {
        let mut required = Resource::ALL.into_iter().filter(|resource| resource.is_required());
        required.all(|resource| self.complete[resource as usize] >= round)
    }
}
