//! The reservation of one bind, from the assume cache to the outcome of its Binding.

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
use crate::{ReservationId, clock};

/// Time limit of the last read that finds out the outcome of a write.
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(1);

/// The reservation of one bind. It changes only the entry with its ID: another bind's reservation is never touched.
pub(crate) struct ApiReservation<'b> {
    binder: &'b ApiBinder,
    id: ReservationId,
    binding: Binding,
    on_drop: OnDrop,
}

/// The change of the entry when the reservation is dropped.
#[derive(Clone, Copy)]
enum OnDrop {
    /// Nothing was sent.
    Release,
    /// A Binding that was sent is carried out by then, or never.
    SettleAt(Instant),
    /// The outcome is known, and the entry shows it.
    Nothing,
}

/// The state of a pod that was to be bound, as a read shows it.
enum PodState {
    /// It is bound to the node of the binding.
    BoundHere(Arc<Pod>),
    /// It is bound to another node, or gone: our write cannot be carried out any more.
    NotOurs(Option<Arc<Pod>>),
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
        let id = self.assume_cache.reserve(placed, is_unchanged)?;
        Ok(ApiReservation { binder: self, id, binding, on_drop: OnDrop::Release })
    }
}

// === impl ApiReservation ===

impl ApiReservation<'_> {
    /// Sends the Binding of the pod, as it was read since the place was reserved, and finds out its outcome.
    pub(crate) async fn write(&mut self, pod: &Arc<Pod>, deadline: Instant) -> Result<(), BindError> {
        let ready = self.binder.ready_for(deadline)?;
        // The Lease is not released before the outcome is known.
        let _in_flight = ready.term.begin_write();
        let (mut pod, mut is_last) = (Arc::clone(pod), false);
        loop {
            self.on_drop = OnDrop::SettleAt(clock::now() + ready.term.timings().lease());
            let reason = match attempt(&ready, &pod, &self.binding, deadline).await {
                WriteOutcome::Written => {
                    self.bound(None);
                    return Ok(());
                }
                WriteOutcome::NotWritten(error) => return Err(self.not_bound(None, error)),
                WriteOutcome::Unknown(why) => return self.find_out(&ready, why).await,
                WriteOutcome::Refused(reason) => reason,
            };
            // Either bound by another client, or only changed, for example its status: find out which.
            match self.read_state(deadline).await {
                PodState::BoundHere(now) => {
                    self.bound(Some(&now));
                    return Ok(());
                }
                PodState::NotOurs(now) => return Err(self.not_bound(now.as_deref(), BindError::Conflict(reason))),
                PodState::Pending(now) if !is_last && now.has_substance_of(&pod) => {
                    is_last = true;
                    pod = now;
                }
                PodState::Pending(_) => return Err(self.not_bound(None, BindError::Conflict(reason))),
                // A proxy may have repeated the request: then the second one is refused.
                PodState::Unknown => return self.find_out(&ready, reason).await,
            }
        }
    }

    /// The outcome of a write without a reply. The reservation stays until it is known, so this may take longer than
    /// the request's time: until the write cannot arrive any more.
    async fn find_out(&mut self, ready: &Ready, why: String) -> Result<(), BindError> {
        let settled = clock::now() + ready.term.doubt();
        self.on_drop = OnDrop::SettleAt(settled);
        // Perhaps only the reply was lost.
        let mut state = self.read_state(settled).await;
        if matches!(state, PodState::Pending(_) | PodState::Unknown) {
            clock::sleep_until(settled).await;
            state = self.read_state(settled + LAST_READ_TIMEOUT).await;
        }
        let error = || BindError::Api(format!("the pod was not bound: {why}"));
        match state {
            PodState::BoundHere(now) => {
                self.bound(Some(&now));
                Ok(())
            }
            PodState::NotOurs(now) => Err(self.not_bound(now.as_deref(), error())),
            PodState::Pending(_) => Err(self.not_bound(None, error())),
            PodState::Unknown => {
                // The watch, or the next list or read, shows the outcome.
                let (pod, node) = (format!("{}/{}", self.binding.namespace, self.binding.name), &*self.binding.node);
                tracing::warn!(pod, node, why, "it is not known whether the pod was bound: its reservation stays");
                Err(BindError::Timeout(why))
            }
        }
    }

    async fn read_state(&self, deadline: Instant) -> PodState {
        match self.binder.read(&self.binding.namespace, &self.binding.name, deadline).await {
            Ok(now) if now.uid() != &*self.binding.uid => PodState::NotOurs(None),
            Ok(now) => match now.node() {
                Some(node) if *node == *self.binding.node => PodState::BoundHere(now),
                Some(_) => PodState::NotOurs(Some(now)),
                None => PodState::Pending(now),
            },
            Err(BindError::NoPod) => PodState::NotOurs(None),
            Err(_) => PodState::Unknown,
        }
    }

    /// The pod is on a node: as it was reserved, or as it was read.
    fn bound(&mut self, read: Option<&Pod>) {
        let placed = read.and_then(|pod| Some(pod.placed_on(pod.node()?, &BTreeMap::new(), &BTreeMap::new())));
        self.binder.assume_cache.settle_at(&self.id, placed.map(Arc::new), clock::now());
        self.on_drop = OnDrop::Nothing;
    }

    /// The pod is not bound here, and will not be: it is on the node that the read showed, or on none.
    fn not_bound(&mut self, elsewhere: Option<&Pod>, error: BindError) -> BindError {
        if elsewhere.is_some() {
            self.bound(elsewhere);
        } else {
            self.binder.assume_cache.release(&self.id);
            self.on_drop = OnDrop::Nothing;
        }
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
        match self.on_drop {
            OnDrop::Release => self.binder.assume_cache.release(&self.id),
            OnDrop::SettleAt(settled) => self.binder.assume_cache.settle_at(&self.id, None, settled),
            OnDrop::Nothing => {}
        }
    }
}
