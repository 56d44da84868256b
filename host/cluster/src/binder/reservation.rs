//! The reservation of one bind, from the watch's store to the outcome of its Binding.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{BindError, Binding, IsUnchanged, NotReserved, Pod, Reservation};

use super::{
    ApiBinder,
    write::{Ready, WriteOutcome, attempt},
};
use crate::{api_watch::ReservationId, clock};

/// Time limit of the last read that finds out the outcome of a write.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(1);

/// The reservation of one bind. Its end changes only the entry with its ID: another bind's reservation is never touched.
pub(crate) struct ApiReservation<'b> {
    binder: &'b ApiBinder,
    pub(crate) id: ReservationId,
    binding: Binding,
    /// What its end tells the store: the Binding is carried out by this moment or never, and the pod as it was read if it
    /// is on a node. Without it nothing was written, and the reservation is released.
    sent: Option<(Instant, Option<Arc<Pod>>)>,
}

/// The state of a pod that was to be bound, as a read shows it.
enum PodState {
    /// It is bound to the node of the binding.
    Bound,
    /// It is bound to another node, or gone: our write cannot be carried out any more.
    NotOurs,
    /// It is bound to no node.
    Pending(Arc<Pod>),
    /// It could not be read.
    Unknown,
}

// === impl ApiBinder ===

impl ApiBinder {
    /// Reserves a pod for its binding.
    pub(crate) fn reserve_pod(
        &self,
        pod: &Arc<Pod>,
        binding: Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<ApiReservation<'_>, NotReserved> {
        let placed = Arc::new(pod.placed_on(&binding.node, &binding.annotations, &binding.labels));
        let id = self.watch.reserve(placed, is_unchanged)?;
        Ok(ApiReservation { binder: self, id, binding, sent: None })
    }
}

// === impl ApiReservation ===

impl ApiReservation<'_> {
    /// Sends the Binding of the pod, as it was read since the place was reserved, and finds out its outcome.
    pub(crate) async fn write(&mut self, pod: &Arc<Pod>, deadline: Instant) -> Result<(), BindError> {
        let ready = self.binder.ready()?;
        if deadline.checked_sub(self.binder.request_timeout).is_none_or(|received| received < ready.since) {
            let why = "this gateway began to lead after the request had come in";
            return Err(BindError::NotLeader(why.to_owned()));
        }
        // The Lease is not released before the outcome is known.
        let _in_flight = ready.term.begin_write();
        let (mut pod, mut is_last) = (Arc::clone(pod), false);
        loop {
            self.sent = Some((clock::now() + ready.term.timings().lease(), None));
            let reason = match attempt(&ready, &pod, &self.binding, deadline).await {
                WriteOutcome::Written => {
                    self.sent = Some((clock::now(), None));
                    return Ok(());
                }
                WriteOutcome::NotWritten(error) => return Err(self.not_bound(error)),
                WriteOutcome::Unknown(why) => return self.find_out(&ready, why).await,
                WriteOutcome::Refused(reason) => reason,
            };
            // Either bound by another client, or only changed, for example its status: find out which.
            match self.read_state(deadline).await {
                PodState::Bound => return Ok(()),
                PodState::NotOurs => return Err(BindError::Conflict(reason)),
                PodState::Pending(now) if !is_last && now.has_substance_of(&pod) => (pod, is_last) = (now, true),
                PodState::Pending(_) => return Err(self.not_bound(BindError::Conflict(reason))),
                // A proxy may have repeated the request: then the second one is refused.
                PodState::Unknown => return self.find_out(&ready, reason).await,
            }
        }
    }

    /// The outcome of a write without a reply. The reservation stays until it is known, so this may take longer than
    /// the request's time: until the write cannot arrive any more.
    async fn find_out(&mut self, ready: &Ready, why: String) -> Result<(), BindError> {
        let settled = clock::now() + ready.term.doubt();
        self.sent = Some((settled, None));
        // Perhaps only the reply was lost.
        let mut state = self.read_state(settled).await;
        if matches!(state, PodState::Pending(_) | PodState::Unknown) {
            clock::sleep_until(settled).await;
            state = self.read_state(settled + LAST_READ_TIMEOUT).await;
        }
        let error = || BindError::Api(format!("the pod was not bound: {why}"));
        match state {
            PodState::Bound => Ok(()),
            PodState::NotOurs => Err(error()),
            PodState::Pending(_) => Err(self.not_bound(error())),
            PodState::Unknown => {
                // The watch, or the next list or read, shows the outcome.
                let (pod, node) = (format!("{}/{}", self.binding.namespace, self.binding.name), &*self.binding.node);
                tracing::warn!(pod, node, why, "it is not known whether the pod was bound: its reservation stays");
                Err(BindError::Timeout(why))
            }
        }
    }

    /// Reads the pod, and keeps what that shows of the outcome.
    async fn read_state(&mut self, deadline: Instant) -> PodState {
        let pod = match self.binder.read(&self.binding.namespace, &self.binding.name, deadline).await {
            Ok(pod) if pod.uid() == &*self.binding.uid => pod,
            Ok(_) | Err(BindError::NoPod) => {
                self.sent = None;
                return PodState::NotOurs;
            }
            Err(_) => return PodState::Unknown,
        };
        let Some(node) = pod.node() else { return PodState::Pending(pod) };
        let placed = pod.placed_on(node, &BTreeMap::new(), &BTreeMap::new());
        self.sent = Some((clock::now(), Some(Arc::new(placed))));
        if *node == *self.binding.node { PodState::Bound } else { PodState::NotOurs }
    }

    /// The Binding was not carried out, and cannot be any more.
    fn not_bound(&mut self, error: BindError) -> BindError {
        self.sent = None;
        error
    }
}

impl Reservation for ApiReservation<'_> {
    fn bind(mut self: Box<Self>, pod: &Arc<Pod>, deadline: Instant) -> Result<(), BindError> {
        let runtime = self.binder.runtime.clone();
        runtime.block_on(self.write(pod, deadline))
    }
}

impl Drop for ApiReservation<'_> {
    fn drop(&mut self) {
        let (id, sent) = (&self.id, self.sent.take());
        self.binder.watch.change(|store| match sent {
            Some((settled, pod)) => store.settle_at(id, pod, settled),
            None => store.release(id),
        });
    }
}
