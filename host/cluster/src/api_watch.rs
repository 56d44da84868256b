//! The cluster as the API server shows it: three watches feed one store, which becomes one cluster after another.
//!
//! ```text
//!  follow(nodes) ──┐                       ┌──> publish (at most once in 10 ms)
//!                  ├──> Store ──> Cluster ─┤
//!  follow(pods)  ──┤      ↑                └──> publish (at once)
//!  follow(namespaces)  reserve
//! ```

mod failure;
mod lines;
mod pages;
mod reflector;
mod requests;
mod resource;
mod shared;
mod status;
mod store;
mod unreadable;
mod wire;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Cluster, IsUnchanged, NotReserved, Pod};
use tokio::{sync::watch, task::JoinHandle};

use self::{resource::Resource, shared::SharedState, store::ClusterStore};
use crate::{ApiServer, AssumeCache, clock};

pub use status::{ResourceStatus, WatchStatus};
pub use store::ReservationId;

/// Changes within this time become one cluster.
const BURST: Duration = Duration::from_millis(10);

/// A bookmark arrives about every minute; without one the watch restarts.
const MAX_SILENCE: Duration = Duration::from_secs(75);

/// The interval at which overdue reservations are looked for.
const UNCONFIRMED_INTERVAL: Duration = Duration::from_secs(10);

/// Watches Nodes, pods, and namespaces where it may, as long as it lives.
pub struct ClusterWatch {
    shared: Arc<SharedState>,
    tasks: Vec<JoinHandle<()>>,
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
        let shared = Arc::new(SharedState::new(publish));
        let silence = MAX_SILENCE.min(max_staleness / 2);
        let follow =
            |resource| tokio::spawn(reflector::follow(api.client().clone(), resource, Arc::clone(&shared), silence));
        let mut tasks = vec![follow(Resource::Nodes), follow(Resource::Pods)];
        if api.has_namespaces() {
            tasks.push(follow(Resource::Namespaces));
        } else {
            shared.failed(Resource::Namespaces);
        }
        tasks.push(tokio::spawn(keep_publishing(Arc::clone(&shared))));
        Self { shared, tasks }
    }

    /// The status of the watches.
    pub fn status(&self) -> WatchStatus {
        let (reserved, is_published) = self.shared.state.lock().summary();
        let SharedState { nodes, pods, namespaces, .. } = self.shared.as_ref();
        let (nodes, pods, namespaces) = (nodes.status(), pods.status(), namespaces.status());
        WatchStatus { nodes, pods, namespaces, reserved, is_published }
    }

    /// The cluster that was published last; empty before the first lists are complete.
    pub fn cluster(&self) -> Arc<Cluster> {
        Arc::clone(self.shared.state.lock().store.published())
    }

    /// Waits until the first lists of nodes and pods are complete, and that of namespaces is or has failed.
    pub async fn synced(&self) {
        wait_for(&self.shared.fulfilled, 1).await;
        // The sender lives longer than the receiver.
        let _ = self.shared.settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// Lists all resources again, and waits until the current cluster shows the nodes and pods.
    ///
    /// It has no time limit.
    pub async fn relist(&self) {
        let number = next(&self.shared.wanted);
        wait_for(&self.shared.fulfilled, number).await;
    }

    /// Changes the store; when this returns, the cluster in force shows it.
    fn change(&self, change: impl FnOnce(&mut ClusterStore)) {
        let mut state = self.shared.state.lock();
        change(&mut state.store);
        state.publish(&self.shared.publish);
    }

    /// After a pause of the process: restarts both watches, and waits until they have shown the changes since.
    ///
    /// It has no time limit.
    pub async fn catch_up(&self) {
        let number = next(&self.shared.resumed);
        wait_for(&self.shared.caught_up, number).await;
        self.shared.state.lock().publish(&self.shared.publish);
    }
}

impl AssumeCache for ClusterWatch {
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved> {
        let mut state = self.shared.state.lock();
        // Events that arrived meanwhile are part of the newest snapshot, and of its totals.
        state.publish(&self.shared.publish);
        if !is_unchanged(state.store.published()) {
            return Err(NotReserved::Changed);
        }
        let id = state.store.reserve(pod)?;
        state.publish(&self.shared.publish);
        Ok(id)
    }

    fn settle_at(&self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant) {
        self.change(|store| store.settle_at(id, pod, settled));
    }

    fn release(&self, id: &ReservationId) {
        self.change(|store| store.release(id));
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

/// Counts one more request; its number.
fn next(requests: &watch::Sender<u64>) -> u64 {
    let mut number = 0;
    requests.send_modify(|count| {
        *count += 1;
        number = *count;
    });
    number
}

/// Waits until the request with this number is done for both resources.
async fn wait_for(done: &watch::Sender<[u64; 2]>, number: u64) {
    // The sender lives longer than the receiver.
    let _ = done.subscribe().wait_for(|done| done.iter().all(|done| *done >= number)).await;
}

/// A single change is published at once; a burst of changes becomes one.
async fn keep_publishing(shared: Arc<SharedState>) {
    let mut check = clock::now();
    loop {
        tokio::select! {
            biased;
            () = clock::sleep_until(check) => {
                shared.relist_if_overdue();
                check = clock::now() + UNCONFIRMED_INTERVAL;
            }
            () = shared.changed.notified() => {
                shared.state.lock().publish(&shared.publish);
                clock::sleep(BURST).await;
            }
        }
    }
}
