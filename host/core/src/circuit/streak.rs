//! The pods of consecutive faults.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
    time::Instant,
};

use crate::Pod;

/// The pods that consecutive faults are about: the first one, and whether there is another.
#[derive(Debug, Default)]
pub(super) struct Streak {
    first: u64,
    has_others: bool,
    /// Until when the policy is not called about the first pod; only while there is no other.
    paused_until: Option<Instant>,
}

// === impl Streak ===

impl Streak {
    /// A streak that begins with a fault about this pod.
    pub(super) fn of(pod: &Pod) -> Self {
        Self { first: key_of(pod), ..Self::default() }
    }

    /// Adds a fault about this pod.
    pub(super) fn add(&mut self, pod: &Pod) {
        self.has_others |= key_of(pod) != self.first;
    }

    /// Whether the faults are about two pods or more.
    pub(super) fn has_others(&self) -> bool {
        self.has_others
    }

    /// Until then the policy is not called about the first pod.
    pub(super) fn pause(&mut self, until: Instant) {
        self.paused_until = Some(until);
    }

    /// Whether the policy must not be called about this pod.
    pub(super) fn is_paused_for(&self, pod: &Pod, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until) && key_of(pod) == self.first
    }
}

/// Tells pods apart by UID, or by namespace and name if there is none. A UID of a request may be long, and the hash is
/// keyed: nobody can choose a UID that counts as another's.
fn key_of(pod: &Pod) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    match pod.uid() {
        "" => KEY.hash_one((pod.namespace(), pod.name())),
        uid => KEY.hash_one(uid),
    }
}
