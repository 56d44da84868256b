//! Reads pods and binds them at the API server, while this process leads.
//!
//! ```text
//!  Leadership ──> ready (fenced client, fresh list) ──> turn
//!  Gateway::bind ──> pod (read) ──> reserve (one step with the comparison) ──> ApiReservation::write
//!                        no reply: the reservation stays until a read shows the outcome
//! ```

mod assume_cache;
mod labels;
mod pod_client;
mod ready;
mod reservation;
mod write;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{BindError, Binder, Binding, IsUnchanged, Leader, NotReserved, Pod, Reservation};
use tokio::{runtime::Handle, task::JoinHandle};

use self::{pod_client::PodClient, ready::keep_ready};
use crate::{
    ApiServer,
    lease::{Leadership, LeadershipState},
};

pub use self::assume_cache::AssumeCache;
pub(crate) use self::reservation::ApiReservation;

/// Binds for the gateway that leads. Must not be used on a runtime's threads: it blocks.
pub struct ApiBinder {
    pods: PodClient,
    readying: JoinHandle<()>,
}

// === impl ApiBinder ===

impl ApiBinder {
    /// Binds whenever `leadership` is ours and `assume_cache` has listed afresh since. `request_timeout` is the
    /// gateway's: a request that is older than the list is not bound. Must be called within a runtime.
    pub fn start(
        api: &ApiServer,
        assume_cache: Arc<dyn AssumeCache>,
        leadership: Arc<Leadership>,
        request_timeout: Duration,
    ) -> Self {
        let ready = Arc::default();
        let reader = api.client().clone();
        let readying = keep_ready(api.clone(), Arc::clone(&assume_cache), leadership.changes(), Arc::clone(&ready));
        let readying = tokio::spawn(readying);
        let pods = PodClient { runtime: Handle::current(), reader, assume_cache, leadership, ready, request_timeout };
        Self { pods, readying }
    }

    /// Reads a pod; the result also settles earlier binds of it whose outcome is unknown.
    pub(crate) async fn read(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.pods.read(namespace, name, deadline).await
    }

    /// Reserves a pod for its binding.
    pub(crate) fn reserve_pod(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<ApiReservation<'_>, NotReserved> {
        let placed = Arc::new(pod.placed_on(&binding.node, &binding.annotations, &binding.labels));
        let id = self.pods.assume_cache.reserve(placed, is_unchanged)?;
        Ok(ApiReservation::new(&self.pods, id, Arc::clone(pod), binding))
    }
}

impl Binder for ApiBinder {
    fn leader(&self) -> Leader {
        match self.pods.leadership.leadership_state() {
            LeadershipState::Leads(_) => match self.pods.ready() {
                Ok(_) => Leader::ThisReplica,
                Err(error) => Leader::Nobody(error.to_string()),
            },
            LeadershipState::Follows { url: Some(url), .. } => Leader::Peer(url),
            LeadershipState::Follows { holder, url: None } => {
                Leader::Nobody(format!("{holder} holds the Lease and does not say where it can be reached"))
            }
            leadership_state => Leader::Nobody(leadership_state.vacancy().unwrap_or_default()),
        }
    }

    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.pods.runtime.block_on(self.read(namespace, name, deadline))
    }

    fn reserve(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<Box<dyn Reservation + '_>, NotReserved> {
        Ok(Box::new(self.reserve_pod(pod, binding, is_unchanged)?))
    }
}

impl Drop for ApiBinder {
    fn drop(&mut self) {
        self.readying.abort();
    }
}
