//! The cluster as the API server shows it: six watches feed one store, which becomes one cluster after another.
//!
//! ```text
//!  follow(nodes) ──┐                       ┌──> publish (at most once in 10 ms)
//!                  ├──> Store ──> Cluster ─┤
//!  follow(pods)  ──┤      ↑                └──> publish (at once)
//!  follow(waiting)     reserve
//!  follow(namespaces)
//!  follow(device classes)
//!  follow(claims)
//! ```

mod reflector;
mod resource;
mod shared;
mod status;
mod store;
mod wire;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Cluster, IsUnchanged, NotReserved, Places, Pod, WaitingChange};
use tokio::task::JoinSet;

use self::{resource::Resource, shared::Shared, store::ClusterStore};
use crate::{ApiServer, clock};

pub use status::{ResourceStatus, WatchStatus};
pub(crate) use store::ReservationId;
pub(crate) use wire::waiting_pods;

/// Changes within this time become one cluster.
const BURST: Duration = Duration::from_millis(10);

/// A bookmark arrives about every minute; without one the watch restarts.
const MAX_SILENCE: Duration = Duration::from_secs(75);

/// The interval at which overdue reservations are looked for.
const UNCONFIRMED_INTERVAL: Duration = Duration::from_secs(10);

/// Watches Nodes, pods, also those without a node, and namespaces, DeviceClasses and PersistentVolumeClaims
/// where it may, as long as it lives.
pub struct ClusterWatch {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

// === impl ClusterWatch ===

impl ClusterWatch {
    /// Starts to list and watch; `publish` gets each new cluster, the first one when both lists are complete.
    ///
    /// `publish` is called from one place at a time, in order; it must be short and not call back. `waiting` gets what the
    /// watch of pods without a node shows, in order; it must be short. With `max_staleness`, each watch restarts early
    /// enough to give a sign of life within that time; without one from the watch of waiting pods, nominated pods do not
    /// count. Must be called within a tokio runtime; dropping it ends the watches.
    pub fn start(
        api: &ApiServer,
        max_staleness: Duration,
        publish: impl Fn(Arc<Cluster>) + Send + Sync + 'static,
        waiting: impl Fn(WaitingChange) + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::new(max_staleness, publish, waiting));
        let silence = MAX_SILENCE.min(max_staleness / 2);
        let mut tasks = JoinSet::new();
        for resource in Resource::ALL {
            tasks.spawn(reflector::follow(api.client().clone(), resource, Arc::clone(&shared), silence));
        }
        tasks.spawn(keep_publishing(Arc::clone(&shared)));
        Self { shared, _tasks: tasks }
    }

    /// The status of the watches.
    pub fn status(&self) -> WatchStatus {
        self.shared.status()
    }

    /// The cluster that was published last; empty before the first lists are complete.
    pub fn cluster(&self) -> Arc<Cluster> {
        self.shared.cluster()
    }

    /// Waits until the first lists of nodes and pods are complete, and the others are or have failed.
    pub async fn synced(&self) {
        self.shared.synced().await;
    }

    /// Lists all resources again, and waits until the current cluster shows the nodes and pods.
    ///
    /// It has no time limit.
    pub async fn relist(&self) {
        self.shared.relist().await;
    }

    /// Shows a pod on its node from now on, with the annotations of its binding, if the newest cluster `is_unchanged`:
    /// one step, between which nothing is published. Until the reservation is settled or
    /// released, no list and no read ends it; the watch does, when it shows the pod or its end.
    ///
    /// # Errors
    /// If it is changed, or the pod is on a node already, or has a reservation.
    pub(crate) fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved> {
        // Events that arrived meanwhile are part of the newest snapshot, and of its totals.
        self.shared.change(
            |store| {
                if is_unchanged(store.published()) { store.reserve(pod) } else { Err(NotReserved::Changed) }
            },
        )
    }

    /// Changes the store; when this returns, the cluster in force shows it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ClusterStore) -> T) -> T {
        self.shared.change(change)
    }
}

impl Places for ClusterWatch {
    fn hold(&self, pod: Arc<Pod>, until: Instant) {
        self.shared.change(|store| store.hold(pod, until));
        // It may end before all others.
        self.shared.changed.notify_one();
    }

    fn leave(&self, uid: &str) {
        self.shared.change(|store| store.leave(uid));
    }
}

/// A single change is published at once; a burst of changes becomes one.
async fn keep_publishing(shared: Arc<Shared>) {
    let mut check = clock::now();
    loop {
        let end = shared.end_overdue();
        tokio::select! {
            biased;
            () = clock::sleep_until(check) => {
                shared.relist_if_overdue();
                check = clock::now() + UNCONFIRMED_INTERVAL;
            }
            () = clock::sleep_until(end.unwrap_or(check)) => {}
            () = shared.changed.notified() => {
                shared.change(|_| ());
                clock::sleep(BURST).await;
            }
        }
    }
}
