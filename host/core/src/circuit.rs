//! A policy whose calls of a verb fail again and again is not asked it for a while.

mod verb_circuit;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

pub(crate) use self::verb_circuit::Pause;
use self::verb_circuit::VerbCircuit;
pub use self::verb_circuit::{FAULTS_TO_OPEN, OPEN_TIME};
use crate::{FailedCall, Fault, Pod, Verb, Verbs, View};

/// Counts the consecutive faults of each verb of one policy. If they are about several pods, the policy is not asked this
/// verb for a while; if they are about one pod, which may be the cause, it is only not asked about that pod.
///
/// An answer to one verb says nothing about another: a filter may always fail next to a score that works, and a score
/// that fails must not stop the filter.
///
/// Every call passes here. Without faults it loads two flags and takes no lock. Calls of a verb take one from its
/// first fault until an answer clears it: one about the pod that failed, or any answer a minute later.
#[derive(Debug, Default)]
pub struct Circuit {
    verbs: [VerbCircuit; Verb::ALL.len()],
    /// Whether failed calls are kept until the first call of the verb without a fault.
    is_on_probation: AtomicBool,
}

// === impl Circuit ===

impl Circuit {
    /// The verbs that the policy must not be asked now, whatever the pod.
    pub fn open_verbs(&self, now: Instant) -> Verbs {
        self.verbs_that(|of_verb| of_verb.is_open(now))
    }

    /// The calls of the verb that must not be made now, if this one is among them.
    pub(crate) fn pause(&self, verb: Verb, pod: &Pod, now: Instant) -> Option<Pause> {
        self.of(verb).pause(pod, now)
    }

    /// Closes the circuit of the verb after a call without fault.
    pub(crate) fn succeeded(&self, verb: Verb, pod: &Pod, now: Instant) {
        self.of(verb).succeeded(pod, now);
    }

    /// Counts a fault about a pod; true if it opened the circuit. After the pause faults about two pods open it again.
    pub(crate) fn failed(&self, verb: Verb, pod: &Pod, now: Instant) -> bool {
        self.of(verb).failed(pod, now)
    }

    /// Whether a call of the verb has ended without a fault.
    pub fn has_answered(&self, verb: Verb) -> bool {
        self.of(verb).has_answered()
    }

    /// The verbs of which a call has ended without a fault.
    pub fn answered(&self) -> Verbs {
        self.verbs_that(VerbCircuit::has_answered)
    }

    /// The verbs that have failed, and of which no call has ended without a fault.
    pub fn only_failed(&self) -> Verbs {
        self.verbs_that(VerbCircuit::has_only_failed)
    }

    /// From now on the last failed call of each verb is kept, until one has ended without a fault.
    pub fn begin_probation(&self) {
        self.is_on_probation.store(true, Ordering::Relaxed);
    }

    /// Nothing is kept any more.
    pub fn end_probation(&self) {
        self.is_on_probation.store(false, Ordering::Relaxed);
        self.verbs.iter().for_each(|of_verb| drop(of_verb.take_failed()));
    }

    /// The last failed call of a verb, once five consecutive calls of it have failed before any ended without a fault.
    pub fn take_failed(&self) -> Option<FailedCall> {
        self.verbs.iter().filter(|of_verb| of_verb.has_failed_from_the_start()).find_map(VerbCircuit::take_failed)
    }

    /// Keeps a call that failed, if that is of interest.
    pub(crate) fn keep_failed(&self, verb: Verb, view: &Arc<View>, fault: &Fault) {
        if self.is_on_probation.load(Ordering::Relaxed) && !self.has_answered(verb) {
            self.of(verb).keep_failed(FailedCall::new(verb, view, fault));
        }
    }

    fn of(&self, verb: Verb) -> &VerbCircuit {
        &self.verbs[verb as usize]
    }

    fn verbs_that(&self, holds: impl Fn(&VerbCircuit) -> bool) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| holds(self.of(*verb))).collect()
    }
}

#[cfg(test)]
mod tests;
