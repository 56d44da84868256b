//! A reserved place, from the reservation to the outcome of its Binding.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{BindError, Binding, Pod, Reservation};

use super::{
    ApiBinder,
    ready::Ready,
    write::{WriteOutcome, attempt, substance},
};
use crate::{Ticket, clock};

/// Time limit of the read that finds out the outcome of a write.
const LAST_READ: Duration = Duration::from_secs(1);

/// A place that one bind holds. It ends with the ticket: another bind's reservation is never touched.
pub(crate) struct ReservedPlace<'b> {
    binder: &'b ApiBinder,
    ticket: Ticket,
    pod: Arc<Pod>,
    binding: Binding,
    end: DropEffect,
}

/// The effect of dropping the place.
#[derive(Clone, Copy)]
enum DropEffect {
    /// Nothing was sent.
    Release,
    /// A Binding that was sent is carried out by then, or never.
    Doubt(Instant),
    /// Its outcome was reported.
    Told,
}

/// The state of a pod that was to be bound, as a read shows it.
enum PodState {
    /// It is bound to the node of the binding.
    Here(Arc<Pod>),
    /// It is bound to another node, or gone: our write cannot be carried out any more.
    Never(Option<Arc<Pod>>),
    /// It is pending.
    Waiting(Arc<Pod>),
    /// It could not be read.
    Unread,
}

// === impl ReservedPlace ===

impl<'b> ReservedPlace<'b> {
    pub(super) fn new(binder: &'b ApiBinder, ticket: Ticket, pod: Arc<Pod>, binding: Binding) -> Self {
        Self { binder, ticket, pod, binding, end: DropEffect::Release }
    }

    /// Sends the Binding, and finds out its outcome.
    pub(crate) async fn write(&mut self, deadline: Instant) -> Result<(), BindError> {
        let ready = self.binder.ready_for(deadline)?;
        // The Lease is not released before the outcome is known.
        let _in_flight = ready.term.begin_write();
        let mut is_last = false;
        loop {
            self.end = DropEffect::Doubt(clock::now() + ready.term.timings().lease());
            let reason = match attempt(&ready, &self.pod, &self.binding, deadline).await {
                WriteOutcome::Written => {
                    self.conclude(None);
                    return Ok(());
                }
                WriteOutcome::NotWritten(error) => {
                    self.release();
                    return Err(error);
                }
                WriteOutcome::Unknown(why) => return self.find_out(&ready, why).await,
                WriteOutcome::Refused(reason) => reason,
            };
            // Either bound by another client, or only changed, for example its status: find out which.
            match self.look(deadline).await {
                PodState::Here(now) => {
                    self.conclude(Some(now));
                    return Ok(());
                }
                PodState::Never(now) => {
                    self.refute(now);
                    return Err(BindError::Conflict(reason));
                }
                PodState::Waiting(now) if !is_last && substance(&now) == substance(&self.pod) => {
                    is_last = true;
                    self.pod = now;
                }
                PodState::Waiting(_) => {
                    self.release();
                    return Err(BindError::Conflict(reason));
                }
                // A proxy may have repeated the request: then the second one is refused.
                PodState::Unread => return self.find_out(&ready, reason).await,
            }
        }
    }

    /// The outcome of a write without a reply. Until it is known the place stays reserved, so this may
    /// take longer than the request's time: until the write cannot arrive any more.
    async fn find_out(&mut self, ready: &Ready, why: String) -> Result<(), BindError> {
        let settled = ready.term.doubt(clock::now());
        self.end = DropEffect::Doubt(settled);
        // Perhaps only the reply was lost.
        let mut shown = self.look(settled).await;
        if matches!(shown, PodState::Waiting(_) | PodState::Unread) {
            clock::sleep_until(settled).await;
            shown = self.look(settled + LAST_READ).await;
        }
        let not_bound = || BindError::Api(format!("the pod was not bound: {why}"));
        match shown {
            PodState::Here(now) => {
                self.conclude(Some(now));
                Ok(())
            }
            PodState::Never(now) => {
                self.refute(now);
                Err(not_bound())
            }
            PodState::Waiting(_) => {
                self.release();
                Err(not_bound())
            }
            PodState::Unread => {
                // The watch, or the next list or read, shows the outcome.
                let (pod, node) = (format!("{}/{}", self.binding.namespace, self.binding.name), &*self.binding.node);
                tracing::warn!(pod, node, why, "nobody knows yet whether the pod was bound: its place stays reserved");
                Err(BindError::Timeout(why))
            }
        }
    }

    async fn look(&self, deadline: Instant) -> PodState {
        match self.binder.read(&self.binding.namespace, &self.binding.name, deadline).await {
            Ok(now) if now.uid() != &*self.binding.uid => PodState::Never(None),
            Ok(now) => match now.node() {
                Some(node) if *node == *self.binding.node => PodState::Here(now),
                Some(_) => PodState::Never(Some(now)),
                None => PodState::Waiting(now),
            },
            Err(BindError::NoPod) => PodState::Never(None),
            Err(_) => PodState::Unread,
        }
    }

    /// The pod is bound: as it was reserved, or as it was read.
    fn conclude(&mut self, read: Option<Arc<Pod>>) {
        let placed = read.and_then(|pod| Some(pod.placed_on(pod.node()?, &BTreeMap::new())));
        self.binder.assume_cache.conclude(&self.ticket, placed.map(Arc::new), clock::now());
        self.end = DropEffect::Told;
    }

    /// The pod is not bound here, and will not be: it is on the node that the read showed, or gone.
    fn refute(&mut self, elsewhere: Option<Arc<Pod>>) {
        if elsewhere.is_some() {
            self.conclude(elsewhere);
        } else {
            self.release();
        }
    }

    fn release(&mut self) {
        self.binder.assume_cache.release(&self.ticket);
        self.end = DropEffect::Told;
    }
}

impl Reservation for ReservedPlace<'_> {
    fn bind(mut self: Box<Self>, deadline: Instant) -> Result<(), BindError> {
        let runtime = self.binder.runtime.clone();
        runtime.block_on(self.write(deadline))
    }
}

impl Drop for ReservedPlace<'_> {
    fn drop(&mut self) {
        match self.end {
            DropEffect::Release => self.release(),
            DropEffect::Doubt(settled) => self.binder.assume_cache.conclude(&self.ticket, None, settled),
            DropEffect::Told => {}
        }
    }
}
