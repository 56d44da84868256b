//! The cluster as the API server shows it: two watches feed one store, which becomes one cluster after another.
//!
//! ```text
//!  follow(nodes) ──┐                       ┌──> publish (at most once in 10 ms)
//!                  ├──> Store ──> Cluster ─┤
//!  follow(pods)  ──┘      ↑                └──> publish (at once)
//!                       reserve
//! ```

mod backoff;
mod failure;
mod lines;
mod lost;
mod pages;
mod reflector;
mod resource;
mod status;
mod store;
mod wire;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use plimsoll_core::{Cluster, NotReserved, Pod, Slot};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use self::{
    resource::{Resource, WatchedObject},
    status::WatchRecord,
    store::ClusterStore,
    wire::EventKind,
};
use crate::{ApiServer, AssumeCache, clock};

pub use status::{ResourceStatus, WatchStatus};
pub use store::Ticket;

/// Changes within this time become one cluster.
const BURST: Duration = Duration::from_millis(10);

/// A bookmark arrives about every minute; without one the watch restarts.
const LONGEST_SILENCE: Duration = Duration::from_secs(75);

/// How long the watch may fail to show a bound pod before a list is requested; and the interval of this check.
const RESERVED_FOR: Duration = Duration::from_mins(1);
const RESERVED_CHECK: Duration = Duration::from_secs(10);

/// Watches Nodes and pods as long as it lives.
pub struct ClusterWatch {
    shared: Arc<SharedState>,
    tasks: [JoinHandle<()>; 3],
}

/// The state that tasks and callers share.
struct SharedState {
    state: Mutex<PublishState>,
    publish: Box<dyn Fn(Arc<Cluster>) + Send + Sync>,
    changed: Notify,
    nodes: WatchRecord,
    pods: WatchRecord,
    /// The number of requests for new lists.
    wanted: watch::Sender<u64>,
    /// The last of these requests that the last complete list of each resource has fulfilled; the first is number 1.
    fulfilled: watch::Sender<[u64; 2]>,
    /// The number of pauses of the process.
    resumed: watch::Sender<u64>,
    /// The last of these pauses after which each watch has caught up.
    caught_up: watch::Sender<[u64; 2]>,
}

#[derive(Default)]
struct PublishState {
    store: ClusterStore,
    are_nodes_listed: bool,
    are_pods_listed: bool,
    is_published: bool,
}

// === impl ClusterWatch ===

impl ClusterWatch {
    /// Starts to list and watch; `publish` gets each new cluster, the first one when both lists are complete.
    ///
    /// `publish` is called from one place at a time, in order; it must be short and not call back. With
    /// `max_staleness`, each watch restarts early enough to give a sign of life within that time.
    /// Must be called within a tokio runtime; dropping it ends the watches.
    pub fn start(
        api: &ApiServer,
        max_staleness: Duration,
        publish: impl Fn(Arc<Cluster>) + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(SharedState {
            state: Mutex::default(),
            publish: Box::new(publish),
            changed: Notify::new(),
            nodes: WatchRecord::new(Resource::Nodes),
            pods: WatchRecord::new(Resource::Pods),
            wanted: watch::Sender::new(1),
            fulfilled: watch::Sender::new([0, 0]),
            resumed: watch::Sender::new(0),
            caught_up: watch::Sender::new([0, 0]),
        });
        let silence = LONGEST_SILENCE.min(max_staleness / 2);
        let follow =
            |resource| tokio::spawn(reflector::follow(api.client().clone(), resource, Arc::clone(&shared), silence));
        let tasks =
            [follow(Resource::Nodes), follow(Resource::Pods), tokio::spawn(keep_publishing(Arc::clone(&shared)))];
        Self { shared, tasks }
    }

    /// The status of the watches.
    pub fn status(&self) -> WatchStatus {
        let assumed = self.shared.state().store.reserved();
        WatchStatus { nodes: self.shared.nodes.status(), pods: self.shared.pods.status(), assumed }
    }

    /// The cluster that was published last; empty before the first lists are complete.
    pub fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(self.shared.state().store.published())
    }

    /// Waits until the first lists of both resources are complete.
    pub async fn synced(&self) {
        self.wait_for(1).await;
    }

    /// Lists both resources again, and waits until the current cluster shows the result.
    ///
    /// It has no time limit.
    pub async fn relist(&self) {
        let mut number = 0;
        self.shared.wanted.send_modify(|wanted| {
            *wanted += 1;
            number = *wanted;
        });
        self.wait_for(number).await;
    }

    /// Changes the store; when this returns, the cluster in force shows it.
    fn change(&self, change: impl FnOnce(&mut ClusterStore)) {
        let mut state = self.shared.state();
        change(&mut state.store);
        state.publish(&self.shared.publish);
    }

    /// After a pause of the process: restarts both watches, and waits until they have shown the changes since.
    ///
    /// It has no time limit.
    pub async fn catch_up(&self) {
        let mut number = 0;
        self.shared.resumed.send_modify(|resumed| {
            *resumed += 1;
            number = *resumed;
        });
        let mut caught_up = self.shared.caught_up.subscribe();
        // The sender lives as long as `self`.
        let _ = caught_up.wait_for(|[nodes, pods]| *nodes >= number && *pods >= number).await;
        self.shared.state().publish(&self.shared.publish);
    }

    async fn wait_for(&self, number: u64) {
        let mut fulfilled = self.shared.fulfilled.subscribe();
        // The sender lives as long as `self`.
        let _ = fulfilled.wait_for(|[nodes, pods]| *nodes >= number && *pods >= number).await;
    }
}

impl AssumeCache for ClusterWatch {
    fn reserve(&self, pod: Arc<Pod>, seen: Option<&Slot>) -> Result<Ticket, NotReserved> {
        let mut state = self.shared.state();
        // Events that arrived meanwhile are part of the newest snapshot.
        state.publish(&self.shared.publish);
        if seen.is_some_and(|seen| !state.store.shows(pod.node().unwrap_or_default(), seen)) {
            return Err(NotReserved::Changed);
        }
        let ticket = state.store.reserve(pod)?;
        state.publish(&self.shared.publish);
        Ok(ticket)
    }

    fn conclude(&self, ticket: &Ticket, pod: Option<Arc<Pod>>, settled: Instant) {
        self.change(|store| store.conclude(ticket, pod, settled));
    }

    fn release(&self, ticket: &Ticket) {
        self.change(|store| store.release(ticket));
    }

    fn observe(&self, pod: &Pod, began: Instant) {
        self.change(|store| store.observe(pod, began));
    }

    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Self::relist(self))
    }
}

impl Drop for ClusterWatch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for ClusterWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterWatch").field("status", &self.status()).finish_non_exhaustive()
    }
}

// === impl SharedState ===

impl SharedState {
    fn state(&self) -> MutexGuard<'_, PublishState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, resource: Resource) -> &WatchRecord {
        match resource {
            Resource::Nodes => &self.nodes,
            Resource::Pods => &self.pods,
        }
    }

    /// A list begins.
    fn begin(&self, resource: Resource) {
        let store = &mut self.state().store;
        match resource {
            Resource::Nodes => store.begin_nodes(),
            Resource::Pods => store.begin_pods(),
        }
    }

    /// Whether a starting watch has to catch up with changes during a pause of the process.
    fn is_behind(&self, resource: Resource, resumed: u64) -> bool {
        self.caught_up.borrow()[resource as usize] < resumed
    }

    /// A watch that began after this many pauses has caught up.
    fn caught_up(&self, resource: Resource, resumed: u64) {
        self.caught_up.send_modify(|caught_up| caught_up[resource as usize] = resumed);
    }

    /// Whether the node of an unreadable object is known: then nothing is placed there.
    fn knows_node_of(&self, lost: &WatchedObject) -> bool {
        match lost {
            WatchedObject::LostPod(pod) => self.state().store.node_of(pod).is_some(),
            WatchedObject::LostNode(_) | WatchedObject::Node(_) | WatchedObject::Pod(_) => true,
        }
    }

    /// Objects of a list or a watch.
    fn apply(&self, objects: impl IntoIterator<Item = (WatchedObject, EventKind)>) {
        let mut state = self.state();
        for (object, kind) in objects {
            object.apply(kind, &mut state.store);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// A list is complete that began then, after this many requests for one.
    fn listed(&self, resource: Resource, began: Instant, wishes: u64) {
        let mut state = self.state();
        match resource {
            Resource::Nodes => {
                state.store.end_nodes();
                state.are_nodes_listed = true;
            }
            Resource::Pods => {
                state.store.end_pods(began);
                state.are_pods_listed = true;
            }
        }
        state.publish(&self.publish);
        drop(state);
        let record = self.record(resource);
        record.well(&record.lists);
        self.fulfilled.send_modify(|fulfilled| fulfilled[resource as usize] = wishes);
    }

    /// Requests new lists if the watch has not shown a bound pod for too long: they show its outcome.
    fn look_for_the_missing(&self) {
        let since = self.state().store.waiting_since();
        let is_under_way = *self.fulfilled.borrow() != [*self.wanted.borrow(); 2];
        if since.is_some_and(|since| clock::now().saturating_duration_since(since) > RESERVED_FOR) && !is_under_way {
            tracing::warn!("a pod was bound {RESERVED_FOR:?} ago, and the watch has not shown it: listing again");
            self.wanted.send_modify(|wanted| *wanted += 1);
        }
    }
}

// === impl PublishState ===

impl PublishState {
    /// Publishes the changes, once the first lists are complete.
    fn publish(&mut self, publish: &(dyn Fn(Arc<Cluster>) + Send + Sync)) {
        if !(self.are_nodes_listed && self.are_pods_listed) {
            return;
        }
        let news = self.store.publish();
        let first = (!self.is_published).then(|| Arc::clone(self.store.published()));
        if let Some(cluster) = news.or(first) {
            self.is_published = true;
            publish(cluster);
        }
    }
}

/// A single change is published at once; a burst of changes becomes one.
async fn keep_publishing(shared: Arc<SharedState>) {
    let mut check = clock::now();
    loop {
        tokio::select! {
            biased;
            () = clock::sleep_until(check) => {
                shared.look_for_the_missing();
                check = clock::now() + RESERVED_CHECK;
            }
            () = shared.changed.notified() => {
                shared.state().publish(&shared.publish);
                clock::sleep(BURST).await;
            }
        }
    }
}
