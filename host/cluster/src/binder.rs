//! Reads pods and binds them at the API server, while this process leads.
//!
//! ```text
//!  Leadership ──> Ready (fenced client, fresh list) ──> turn
//!  Gateway::bind ──> reserve (one step with the comparison) ──> pod (read) ──> ApiReservation::write
//!                        no reply: the reservation stays until a read shows the outcome
//! ```

mod reservation;
mod write;

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kube::{Client, core::Request};
use plimsoll_core::{BindError, Binder, Binding, IsUnchanged, Leader, NotReserved, Pod, Reservation};
use tokio::{runtime::Handle, sync::watch::Receiver};
use tracing::{info, warn};

#[cfg(test)]
pub(crate) use self::reservation::ApiReservation;
use self::write::{Ready, pods_path, text};
use crate::{
    ApiServer, ClusterWatch,
    api::error_text,
    clock,
    lease::{Leadership, LeadershipState},
    term::Term,
};

/// The longest time that a pod which another replica has bound counts here before the watch shows it.
const MAX_WATCH_LAG: Duration = Duration::from_secs(5);

/// Binds for the gateway that leads. Must not be used on a runtime's threads: it blocks.
pub struct ApiBinder {
    runtime: Handle,
    reader: Client,
    watch: Arc<ClusterWatch>,
    leadership: Arc<Leadership>,
    ready: Arc<ArcSwapOption<Ready>>,
    request_timeout: Duration,
}

// === impl ApiBinder ===

impl ApiBinder {
    /// Binds whenever `leadership` is ours and `watch` has listed afresh since. `request_timeout` is the gateway's: a
    /// request that is older than the list is not bound. Must be called within a runtime.
    pub fn start(
        api: &ApiServer,
        watch: Arc<ClusterWatch>,
        leadership: Arc<Leadership>,
        request_timeout: Duration,
    ) -> Self {
        let (ready, reader) = (Arc::default(), api.client().clone());
        tokio::spawn(keep_ready(api.clone(), Arc::clone(&watch), leadership.changes(), Arc::clone(&ready)));
        Self { runtime: Handle::current(), reader, watch, leadership, ready, request_timeout }
    }

    /// Reads a pod as it is now: a read without a resource version sees every write before it. The result also settles
    /// earlier binds of it whose outcome is unknown.
    pub(crate) async fn read(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        let wrong = |error: &dyn std::fmt::Display| BindError::Api(error.to_string());
        let request = Request::new(pods_path(namespace)).get(name, &kube::api::GetParams::default());
        let request = request.map_err(|error| wrong(&error))?;
        let began = clock::now();
        let json = match clock::timeout_at(deadline, self.reader.request_text(request)).await {
            Ok(Ok(json)) => json,
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => return Err(BindError::NoPod),
            Ok(Err(error)) => return Err(BindError::Api(text(&error))),
            Err(_) => return Err(BindError::Timeout("the pod could not be read".to_owned())),
        };
        let pod = Pod::from_json(Bytes::from(json)).map_err(|error| wrong(&error))?;
        self.watch.change(|store| store.observe(&pod, began));
        Ok(Arc::new(pod))
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
}

impl Binder for ApiBinder {
    fn leader(&self) -> Leader {
        match self.leadership.leadership_state() {
            LeadershipState::Leads(_) => match self.ready() {
                Ok(_) => Leader::ThisReplica,
                Err(error) => Leader::Nobody(error.to_string()),
            },
            LeadershipState::Follows { url: Some(url), .. } => Leader::Peer(url),
            LeadershipState::Follows { holder, url: None } => {
                Leader::Nobody(format!("{holder} holds the Lease and does not say where it can be reached"))
            }
            LeadershipState::Vacant(why) => Leader::Nobody(why.as_ref().to_owned()),
        }
    }

    fn leads_for(&self) -> Duration {
        self.ready().map_or(Duration::ZERO, |ready| clock::now().saturating_duration_since(ready.since))
    }

    fn pod(&self, namespace: &str, name: &str, deadline: Instant) -> Result<Arc<Pod>, BindError> {
        self.runtime.block_on(self.read(namespace, name, deadline))
    }

    fn forwarded(&self, pod: Pod) {
        let watch = Arc::clone(&self.watch);
        let Some(id) = watch.change(|store| store.forward(Arc::new(pod))) else { return };
        self.runtime.spawn(async move {
            clock::sleep(MAX_WATCH_LAG).await;
            // Not by the UID: the pod may have been forwarded again since.
            watch.change(|store| store.release(&id));
        });
    }

    fn not_forwarded(&self, uid: &str) {
        self.watch.change(|store| store.end_forwarded(uid));
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

/// Lists the cluster again at the start of every term. It runs until the election ends.
async fn keep_ready(
    api: ApiServer,
    watch: Arc<ClusterWatch>,
    mut changes: Receiver<LeadershipState>,
    ready: Arc<ArcSwapOption<Ready>>,
) {
    loop {
        let leadership_state = changes.borrow_and_update().clone();
        ready.store(None);
        let prepare = async {
            if let LeadershipState::Leads(term) = leadership_state {
                ready.store(Some(Arc::new(make_ready(&api, &watch, term).await)));
            }
            pending::<()>().await;
        };
        tokio::select! {
            biased;
            change = changes.changed() => if change.is_err() {
                return;
            },
            () = prepare => {}
        }
    }
}

async fn make_ready(api: &ApiServer, watch: &ClusterWatch, term: Arc<Term>) -> Ready {
    loop {
        match api.fenced(&term) {
            Ok(client) => {
                // A list that starts now contains all writes of earlier leaders.
                watch.relist().await;
                info!(term = term.number(), "the cluster was listed afresh: this gateway binds");
                return Ready { term, client, since: clock::now() };
            }
            Err(error) => {
                warn!(term = term.number(), error = error_text(&error), "this gateway leads and cannot bind");
                clock::sleep(term.timings().pause()).await;
            }
        }
    }
}
