//! Reads pods and binds them at the API server, while this process leads.
//!
//! ```text
//!  Leadership ──> ready (fenced client, fresh list) ──> turn
//!  Gateway::bind ──> pod (read) ──> reserve (one step with the comparison) ──> ApiReservation::write
//!                        no reply: the reservation stays until a read shows the outcome
//! ```

mod labels;
mod ready;
mod reservation;
mod write;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kube::{Client, core::Request};
use plimsoll_core::{BindError, Binder, Binding, IsUnchanged, NotReserved, Pod, Reservation, Turn};
use tokio::{runtime::Handle, task::JoinHandle};

use self::ready::{Ready, keep_ready};
use crate::{
    ApiServer, ReservationId, clock,
    lease::{Leadership, LeadershipState},
};

pub(crate) use self::reservation::ApiReservation;

/// The gateway's view of the cluster, as far as a binder changes it.
pub trait AssumeCache: Send + Sync {
    /// Shows a pod on its node from now on, with the annotations of its binding, if the newest cluster `is_unchanged`:
    /// one step, between which nothing is published. Until the reservation is settled or
    /// released, no list and no read ends it; the watch does, when it shows the pod or its end.
    ///
    /// # Errors
    /// If it is changed, or the pod is on a node already, or has a reservation.
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved>;

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

/// Binds for the gateway that leads. Must not be used on a runtime's own threads: it blocks.
pub struct ApiBinder {
    runtime: Handle,
    reader: Client,
    assume_cache: Arc<dyn AssumeCache>,
    leadership: Arc<Leadership>,
    ready: Arc<ArcSwapOption<Ready>>,
    readying: JoinHandle<()>,
    request_timeout: Duration,
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
        Self { runtime: Handle::current(), reader, assume_cache, leadership, ready, readying, request_timeout }
    }

    /// Returns the connections of this term, if it may write.
    fn ready(&self) -> Result<Arc<Ready>, BindError> {
        let not = |why: &str| BindError::NotLeader(why.to_owned());
        let LeadershipState::Leads(term) = self.leadership.leadership_state() else {
            return Err(not("this gateway leads no more"));
        };
        if !term.may_write() {
            return Err(not("this gateway could not renew its Lease in time"));
        }
        let ready = self.ready.load_full().filter(|ready| ready.term.number() == term.number());
        ready.ok_or_else(|| not("this gateway has just begun to lead and lists the cluster"))
    }

    /// Returns the connections of this term, for a request whose time is over at the deadline.
    fn ready_for(&self, deadline: Instant) -> Result<Arc<Ready>, BindError> {
        let ready = self.ready()?;
        if deadline.checked_sub(self.request_timeout).is_none_or(|received| received < ready.since) {
            let why = "this gateway began to lead after the request had come in";
            return Err(BindError::NotLeader(why.to_owned()));
        }
        Ok(ready)
    }

    /// Reads a pod; the result also settles earlier binds of it whose outcome is unknown.
    pub(crate) async fn read(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        let began = clock::now();
        match clock::timeout_at(deadline, read_pod(&self.reader, namespace, name)).await {
            Ok(Ok(pod)) => {
                self.assume_cache.observe(&pod, began);
                Ok(pod)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(BindError::Timeout("the pod could not be read".to_owned())),
        }
    }

    /// Reserves a pod for its binding.
    pub(crate) fn reserve_pod(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<ApiReservation<'_>, NotReserved> {
        let placed = Arc::new(pod.placed_on(&binding.node, &binding.annotations, &binding.labels));
        let id = self.assume_cache.reserve(placed, is_unchanged)?;
        Ok(ApiReservation::new(self, id, Arc::clone(pod), binding))
    }
}

impl Binder for ApiBinder {
    fn turn(&self) -> Turn {
        match self.leadership.leadership_state() {
            LeadershipState::Leads(_) => match self.ready() {
                Ok(_) => Turn::Mine,
                Err(error) => Turn::Nobody(error.to_string()),
            },
            LeadershipState::Follows { url: Some(url), .. } => Turn::Peer(url),
            LeadershipState::Follows { holder, url: None } => {
                Turn::Nobody(format!("{holder} holds the Lease and does not say where it can be reached"))
            }
            leadership_state => Turn::Nobody(leadership_state.vacancy().unwrap_or_default()),
        }
    }

    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.runtime.block_on(self.read(namespace, name, deadline))
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

/// Reads a pod as it is now: a read without a resource version sees every write before it.
async fn read_pod(client: &Client, namespace: &str, name: &str) -> Result<Arc<Pod>, BindError> {
    let request = Request::new(pods_path(namespace)).get(name, &kube::api::GetParams::default());
    let request = request.map_err(|error| BindError::Api(error.to_string()))?;
    let text = match client.request_text(request).await {
        Ok(text) => text,
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(BindError::NoPod),
        Err(error) => return Err(BindError::Api(write::text(&error))),
    };
    let pod = Pod::from_json(Bytes::from(text)).map_err(|error| BindError::Api(error.to_string()))?;
    Ok(Arc::new(pod))
}

/// The path of the pods of a namespace. The border has checked its name and the pod's: see [`plimsoll_core::BindQuery`].
fn pods_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}
