//! A reserved pod, and the identity of its reservation.

use std::{sync::Arc, time::Instant};

use plimsoll_core::Pod;

/// A reservation's identity: it alone changes or ends the reservation, and no other one of the same pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationId {
    pub(super) uid: Box<str>,
    pub(super) number: u64,
}

/// A pod that is being bound, or was, and that the watch has not shown yet.
#[derive(Debug)]
pub(super) struct ReservedPod {
    pub(super) number: u64,
    pub(super) pod: Arc<Pod>,
    pub(super) bind: BindState,
}

/// The bind of a reserved pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BindState {
    /// It is in progress.
    Open,
    /// It is over: reads and lists that began later show its outcome.
    Settled(Instant),
    /// Another replica decides about it.
    Forwarded,
}

// === impl ReservedPod ===

impl ReservedPod {
    /// Whether a read or a list that `began` then shows the outcome of the bind. One that began at the very moment may have
    /// been sent before it: the clock has steps.
    pub(super) fn is_settled_before(&self, began: Instant) -> bool {
        match self.bind {
            BindState::Open => false,
            BindState::Settled(settled) => settled < began,
            BindState::Forwarded => true,
        }
    }
}

// === impl ReservationId ===

impl ReservationId {
    /// The reservation with this number, which no other has, of the pod with this UID.
    pub fn new(uid: impl Into<Box<str>>, number: u64) -> Self {
        Self { uid: uid.into(), number }
    }

    /// The pod's UID.
    pub fn uid(&self) -> &str {
        &self.uid
    }
}
