//! The cluster as the API server shows it: three watches feed one store, which becomes one cluster after another.
//!
//! ```text
//!  follow(nodes) ──┐                       ┌──> publish (at most once in 10 ms)
//!                  ├──> Store ──> Cluster ─┤
//!  follow(pods)  ──┤      ↑                └──> publish (at once)
//!  follow(namespaces)  reserve
//! ```

mod reflector;
mod resource;
mod shared;
mod status;
mod store;
mod wire;

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{Cluster, IsUnchanged, NotReserved, Pod};
use tokio::task::JoinHandle;

use self::{resource::Resource, shared::Shared};
use crate::{ApiServer, clock};

pub use status::{ResourceStatus, WatchStatus};
pub use store::ReservationId;

/// Changes within this time become one cluster.
const BURST: Duration = Duration::from_millis(10);

/// A bookmark arrives about every minute; without one the watch restarts.
const MAX_SILENCE: Duration = Duration::from_secs(75);

/// The interval at which overdue reservations are looked for.
const UNCONFIRMED_INTERVAL: Duration = Duration::from_secs(10);

/// The gateway's view of the cluster, as far as a binder changes it.
pub trait AssumeCache: Send + Sync {
    /// Shows a pod on its node from now on, with the annotations of its binding, if the newest cluster `is_unchanged`:
    /// one step, between which nothing is published. Until the reservation is settled or
    /// released, no list and no read ends it; the watch does, when it shows the pod or its end.
    ///
    /// # Errors
    /// If it is changed, or the pod is on a node already, or has a reservation.
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved>;

    /// Shows a pod on its node about whose bind another replica decides, until the watch shows it, a list is complete, or
    /// [`Self::end_forwarded`] is called.
    fn forward(&self, pod: Arc<Pod>);

    /// The other replica does not bind the pod.
    fn end_forwarded(&self, uid: &str);

    /// After the moment `settled` no write of this bind can arrive any more: a list or a read that begins later
    /// shows its outcome. A `pod` is the pod as it was read, with its node and annotations.
    fn settle_at(&self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant);

    /// The bind with this reservation bound nothing, and will not.
    fn release(&self, id: &ReservationId);

    /// The pod was read by a request that `began` then.
    fn observe(&self, pod: &Pod, began: Instant);

    /// Lists nodes and pods again; done when the gateway's view is at least as new as the call.
    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Watches Nodes, pods, and namespaces where it may, as long as it lives.
pub struct ClusterWatch {
    shared: Arc<Shared>,
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
        let shared = Arc::new(Shared::new(publish));
        let silence = MAX_SILENCE.min(max_staleness / 2);
        let follow =
            |resource| tokio::spawn(reflector::follow(api.client().clone(), resource, Arc::clone(&shared), silence));
        let mut tasks = vec![follow(Resource::Nodes), follow(Resource::Pods)];
        if api.has_namespaces() {
            tasks.push(follow(Resource::Namespaces));
        } else {
            shared.skip(Resource::Namespaces);
        }
        tasks.push(tokio::spawn(keep_publishing(Arc::clone(&shared))));
        Self { shared, tasks }
    }

    /// The status of the watches.
    pub fn status(&self) -> WatchStatus {
        self.shared.status()
    }

    /// The cluster that was published last; empty before the first lists are complete.
    pub fn cluster(&self) -> Arc<Cluster> {
        self.shared.cluster()
    }

    /// Waits until the first lists of nodes and pods are complete, and that of namespaces is or has failed.
    pub async fn synced(&self) {
        self.shared.synced().await;
    }

    /// Lists all resources again, and waits until the current cluster shows the nodes and pods.
    ///
    /// It has no time limit.
    pub async fn relist(&self) {
        self.shared.relist().await;
    }
}

impl AssumeCache for ClusterWatch {
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved> {
        // Events that arrived meanwhile are part of the newest snapshot, and of its totals.
        self.shared.publish_and_change(|store| {
            if is_unchanged(store.published()) { store.reserve(pod) } else { Err(NotReserved::Changed) }
        })
    }

    fn forward(&self, pod: Arc<Pod>) {
        self.shared.change(|store| store.forward(pod));
    }

    fn end_forwarded(&self, uid: &str) {
        self.shared.change(|store| store.end_forwarded(uid));
    }

    fn settle_at(&self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant) {
        self.shared.change(|store| store.settle_at(id, pod, settled));
    }

    fn release(&self, id: &ReservationId) {
        self.shared.change(|store| store.release(id));
    }

    fn observe(&self, pod: &Pod, began: Instant) {
        self.shared.change(|store| store.observe(pod, began));
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

/// A single change is published at once; a burst of changes becomes one.
async fn keep_publishing(shared: Arc<Shared>) {
    let mut check = clock::now();
    loop {
        tokio::select! {
            biased;
            () = clock::sleep_until(check) => {
                shared.relist_if_overdue();
                check = clock::now() + UNCONFIRMED_INTERVAL;
            }
            () = shared.changed.notified() => {
                shared.change(|_| ());
                clock::sleep(BURST).await;
            }
        }
    }
}
