//! A place that is reserved, from the reservation to what became of its Binding.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{BindError, Binding, Pod, Reservation};

use super::{
    ApiBinder,
    ready::Ready,
    write::{Attempt, attempt, substance},
};
use crate::{Ticket, clock};

/// How long the read may take that tells what became of a write.
const LAST_READ: Duration = Duration::from_secs(1);

/// A place that one bind holds. It ends with the ticket: another bind's reservation is never touched.
pub(crate) struct Place<'b> {
    binder: &'b ApiBinder,
    ticket: Ticket,
    pod: Arc<Pod>,
    binding: Binding,
    end: End,
}

/// The effect of dropping the place.
#[derive(Clone, Copy)]
enum End {
    /// Nothing was sent.
    Release,
    /// A Binding that was sent is carried out by then, or never.
    Doubt(Instant),
    /// It has been said.
    Told,
}

/// The state of a pod that was to be bound, as a read shows it.
enum Shown {
    /// It is bound to the node of the binding.
    Here(Arc<Pod>),
    /// It is bound to another one, or gone: what was sent cannot be carried out any more.
    Never(Option<Arc<Pod>>),
    /// It waits.
    Waiting(Arc<Pod>),
    /// It could not be read.
    Unread,
}

// === impl Place ===

impl<'b> Place<'b> {
    pub(super) fn new(binder: &'b ApiBinder, ticket: Ticket, pod: Arc<Pod>, binding: Binding) -> Self {
        Self { binder, ticket, pod, binding, end: End::Release }
    }

    /// Sends the Binding, and finds out what came of it.
    pub(crate) async fn write(&mut self, deadline: Instant) -> Result<(), BindError> {
        let ready = self.binder.ready_for(deadline)?;
        let mut is_last = false;
        loop {
            self.end = End::Doubt(clock::now() + ready.term.pace().lease());
            let reason = match attempt(&ready, &self.pod, &self.binding, deadline).await {
                Attempt::Written => {
                    self.conclude(None);
                    return Ok(());
                }
                Attempt::NotWritten(error) => {
                    self.release();
                    return Err(error);
                }
                Attempt::Unknown(why) => return self.find_out(&ready, why).await,
                Attempt::Refused(reason) => reason,
            };
            // Bound by somebody, or only changed, as when its status was written: see which.
            match self.look(deadline).await {
                Shown::Here(now) => {
                    self.conclude(Some(now));
                    return Ok(());
                }
                Shown::Never(now) => {
                    self.refute(now);
                    return Err(BindError::Conflict(reason));
                }
                Shown::Waiting(now) if !is_last && substance(&now) == substance(&self.pod) => {
                    is_last = true;
                    self.pod = now;
                }
                Shown::Waiting(_) => {
                    self.release();
                    return Err(BindError::Conflict(reason));
                }
                // Something in between may have repeated the request: of two the second is refused.
                Shown::Unread => return self.find_out(&ready, reason).await,
            }
        }
    }

    /// What became of a write without an answer. Until that is known the place stays reserved, so this may
    /// take longer than the request's time: until nothing can be under way any more.
    async fn find_out(&mut self, ready: &Ready, why: String) -> Result<(), BindError> {
        let settled = ready.term.doubt(clock::now());
        self.end = End::Doubt(settled);
        // The answer alone may have been lost.
        let mut shown = self.look(settled).await;
        if matches!(shown, Shown::Waiting(_) | Shown::Unread) {
            clock::sleep_until(settled).await;
            shown = self.look(settled + LAST_READ).await;
        }
        let not_bound = || BindError::Api(format!("the pod was not bound: {why}"));
        match shown {
            Shown::Here(now) => {
                self.conclude(Some(now));
                Ok(())
            }
            Shown::Never(now) => {
                self.refute(now);
                Err(not_bound())
            }
            Shown::Waiting(_) => {
                self.release();
                Err(not_bound())
            }
            Shown::Unread => {
                // The watch tells, or the next list or read.
                let (pod, node) = (format!("{}/{}", self.binding.namespace, self.binding.name), &*self.binding.node);
                tracing::warn!(pod, node, why, "nobody knows yet whether the pod was bound: its place stays reserved");
                Err(BindError::Timeout(why))
            }
        }
    }

    async fn look(&self, deadline: Instant) -> Shown {
        match self.binder.read(&self.binding.namespace, &self.binding.name, deadline).await {
            Ok(now) if now.uid() != &*self.binding.uid => Shown::Never(None),
            Ok(now) => match now.node() {
                Some(node) if *node == *self.binding.node => Shown::Here(now),
                Some(_) => Shown::Never(Some(now)),
                None => Shown::Waiting(now),
            },
            Err(BindError::NoPod) => Shown::Never(None),
            Err(_) => Shown::Unread,
        }
    }

    /// The pod is bound: as it was reserved, or as it was read.
    fn conclude(&mut self, read: Option<Arc<Pod>>) {
        let placed = read.and_then(|pod| Some(pod.placed_on(pod.node()?, &BTreeMap::new())));
        self.binder.ledger.conclude(&self.ticket, placed.map(Arc::new), clock::now());
        self.end = End::Told;
    }

    /// The pod is not bound here, and will not be: it is where it was read to be, or gone.
    fn refute(&mut self, elsewhere: Option<Arc<Pod>>) {
        if elsewhere.is_some() {
            self.conclude(elsewhere);
        } else {
            self.release();
        }
    }

    fn release(&mut self) {
        self.binder.ledger.release(&self.ticket);
        self.end = End::Told;
    }
}

impl Reservation for Place<'_> {
    fn bind(mut self: Box<Self>, deadline: Instant) -> Result<(), BindError> {
        let runtime = self.binder.runtime.clone();
        runtime.block_on(self.write(deadline))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        match self.end {
            End::Release => self.release(),
            End::Doubt(settled) => self.binder.ledger.conclude(&self.ticket, None, settled),
            End::Told => {}
        }
    }
}
