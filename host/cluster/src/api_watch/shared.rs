//! The state that the watches, the publisher and the callers share.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use plimsoll_core::Cluster;
use tokio::sync::{Notify, watch};

use super::{
    resource::{Resource, WatchedObject},
    status::WatchHealth,
    store::ClusterStore,
    wire::EventKind,
};
use crate::clock;

/// The time that the watch may fail to show a bound pod before a list is requested.
const UNCONFIRMED_TIMEOUT: Duration = Duration::from_mins(1);

/// The state that tasks and callers share.
pub(super) struct SharedState {
    pub(super) state: Mutex<PublishState>,
    pub(super) publish: Box<dyn Fn(Arc<Cluster>) + Send + Sync>,
    pub(super) changed: Notify,
    pub(super) nodes: WatchHealth,
    pub(super) pods: WatchHealth,
    pub(super) namespaces: WatchHealth,
    /// Whether namespaces were listed, or could not be: until then nothing is published.
    pub(super) settled: watch::Sender<bool>,
    /// The number of requests for new lists.
    pub(super) wanted: watch::Sender<u64>,
    /// The last of these requests that the last complete list of each resource has fulfilled; the first is number 1.
    pub(super) fulfilled: watch::Sender<[u64; 2]>,
    /// The number of pauses of the process.
    pub(super) resumed: watch::Sender<u64>,
    /// The last of these pauses after which each watch has caught up.
    pub(super) caught_up: watch::Sender<[u64; 2]>,
}

#[derive(Default)]
pub(super) struct PublishState {
    pub(super) store: ClusterStore,
    /// By resource: whether its first list is complete, or is not waited for.
    is_settled: [bool; 3],
    is_published: bool,
}

// === impl SharedState ===

impl SharedState {
    pub(super) fn new(publish: impl Fn(Arc<Cluster>) + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::default(),
            publish: Box::new(publish),
            changed: Notify::new(),
            nodes: WatchHealth::new(Resource::Nodes),
            pods: WatchHealth::new(Resource::Pods),
            namespaces: WatchHealth::new(Resource::Namespaces),
            settled: watch::Sender::new(false),
            wanted: watch::Sender::new(1),
            fulfilled: watch::Sender::new([0, 0]),
            resumed: watch::Sender::new(0),
            caught_up: watch::Sender::new([0, 0]),
        }
    }

    pub(super) fn record(&self, resource: Resource) -> &WatchHealth {
        match resource {
            Resource::Nodes => &self.nodes,
            Resource::Pods => &self.pods,
            Resource::Namespaces => &self.namespaces,
        }
    }

    /// A list begins.
    pub(super) fn begin(&self, resource: Resource) {
        let store = &mut self.state.lock().store;
        match resource {
            Resource::Nodes => store.begin_nodes(),
            Resource::Pods => store.begin_pods(),
            Resource::Namespaces => store.begin_namespaces(),
        }
    }

    /// Whether a starting watch has to catch up with changes during a pause of the process.
    pub(super) fn is_behind(&self, resource: Resource, resumed: u64) -> bool {
        self.caught_up.borrow().get(resource as usize).is_some_and(|caught_up| *caught_up < resumed)
    }

    /// A watch that began after this many pauses has caught up.
    pub(super) fn caught_up(&self, resource: Resource, resumed: u64) {
        self.caught_up.send_modify(|caught_up| set(caught_up, resource, resumed));
    }

    /// Whether the node of an unreadable object is known: then nothing is placed there.
    pub(super) fn knows_node_of(&self, lost: &WatchedObject) -> bool {
        match lost {
            WatchedObject::UnreadablePod(pod) => self.state.lock().store.node_of(pod).is_some(),
            _ => true,
        }
    }

    /// Objects of a list or a watch.
    pub(super) fn apply(&self, objects: impl IntoIterator<Item = (WatchedObject, EventKind)>) {
        let mut state = self.state.lock();
        for (object, kind) in objects {
            object.apply(kind, &mut state.store);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// A list is complete that began then, after this many requests for one.
    pub(super) fn listed(&self, resource: Resource, began: Instant, requests: u64) {
        let mut state = self.state.lock();
        match resource {
            Resource::Nodes => {
                state.store.end_nodes();
                state.is_settled[Resource::Nodes as usize] = true;
            }
            Resource::Pods => {
                state.store.end_pods(began);
                state.is_settled[Resource::Pods as usize] = true;
            }
            Resource::Namespaces => {
                state.store.end_namespaces();
                state.is_settled[Resource::Namespaces as usize] = true;
            }
        }
        state.publish(&self.publish);
        drop(state);
        let record = self.record(resource);
        record.well(&record.lists);
        self.fulfilled.send_modify(|fulfilled| set(fulfilled, resource, requests));
        self.tell_settled(resource);
    }

    /// A list or a watch has failed. The gateway works without namespaces, so nothing waits for them any longer.
    pub(super) fn failed(&self, resource: Resource) {
        if resource == Resource::Namespaces {
            let mut state = self.state.lock();
            state.is_settled[Resource::Namespaces as usize] = true;
            state.publish(&self.publish);
        }
        self.tell_settled(resource);
    }

    fn tell_settled(&self, resource: Resource) {
        if resource == Resource::Namespaces {
            self.settled.send_if_modified(|settled| !std::mem::replace(settled, true));
        }
    }

    /// Requests new lists if the watch has not shown a bound pod for too long: they show its outcome.
    pub(super) fn relist_if_overdue(&self) {
        let since = self.state.lock().store.oldest_unconfirmed();
        let is_under_way = *self.fulfilled.borrow() != [*self.wanted.borrow(); 2];
        if since.is_some_and(|since| clock::now().saturating_duration_since(since) > UNCONFIRMED_TIMEOUT)
            && !is_under_way
        {
            tracing::warn!(
                "a pod was bound {UNCONFIRMED_TIMEOUT:?} ago, and the watch has not shown it: listing again"
            );
            self.wanted.send_modify(|wanted| *wanted += 1);
        }
    }
}

/// Nobody waits for namespaces: they have no place in it.
fn set(of_resources: &mut [u64; 2], resource: Resource, number: u64) {
    if let Some(own) = of_resources.get_mut(resource as usize) {
        *own = number;
    }
}

// === impl PublishState ===

impl PublishState {
    /// The number of reserved pods, and whether a cluster has been published.
    pub(super) fn summary(&self) -> (usize, bool) {
        (self.store.reserved(), self.is_published)
    }

    /// Publishes the changes, once the first lists are complete.
    pub(super) fn publish(&mut self, publish: &(dyn Fn(Arc<Cluster>) + Send + Sync)) {
        if self.is_settled.contains(&false) {
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
