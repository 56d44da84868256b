//! A policy whose calls of a verb fail again and again is not asked it for a while.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use plimsoll_decision_cache::Fingerprint;

use crate::model::{Fault, Pod, Verb, Verbs};

/// Faults in a row that open the circuit of a verb, if they are about two pods or more.
pub const FAULTS_TO_OPEN: u32 = 5;

/// The time that a circuit stays open.
pub const OPEN_TIME: Duration = Duration::from_secs(10);

/// The circuits of one policy, one for each verb: a score that fails must not stop a filter that works.
///
/// One pod alone opens no circuit, since it may be the cause of its faults. After the pause, one more fault opens the
/// circuit again and one answer closes it.
#[derive(Debug, Default)]
pub struct Circuit {
    verbs: Mutex<[VerbCircuit; Verb::ALL.len()]>,
}

#[derive(Debug, Default)]
struct VerbCircuit {
    /// Whether a call has ended without a fault.
    has_answered: bool,
    /// The number of faults since then.
    faults: u32,
    /// The pod of the first of them, and whether others are about other pods.
    first_pod: Option<Fingerprint>,
    has_other_pods: bool,
    last: Option<Fault>,
    open_until: Option<Instant>,
}

// === impl Circuit ===

impl Circuit {
    /// Whether the policy must not be asked the verb now.
    pub(crate) fn is_open(&self, verb: Verb, now: Instant) -> bool {
        self.verbs.lock()[verb as usize].is_open(now)
    }

    /// The verbs that the policy must not be asked now.
    pub fn open_verbs(&self, now: Instant) -> Verbs {
        self.verbs_that(|of_verb| of_verb.is_open(now))
    }

    /// Closes the circuit of the verb after a call without fault.
    pub(crate) fn succeeded(&self, verb: Verb) {
        self.verbs.lock()[verb as usize] = VerbCircuit { has_answered: true, ..VerbCircuit::default() };
    }

    /// Counts a fault about a pod; true if it opened the circuit.
    pub(crate) fn failed(&self, verb: Verb, pod: &Pod, fault: &Fault, now: Instant) -> bool {
        let pod = Fingerprint::of(&(pod.uid(), pod.namespace(), pod.name()));
        let of_verb = &mut self.verbs.lock()[verb as usize];
        of_verb.has_other_pods |= *of_verb.first_pod.get_or_insert(pod) != pod;
        of_verb.faults = of_verb.faults.saturating_add(1);
        of_verb.last = Some(fault.clone());
        let opens = of_verb.has_failed_enough() && !of_verb.is_open(now);
        if opens {
            of_verb.open_until = Some(now + OPEN_TIME);
        }
        opens
    }

    /// The verbs of which a call has ended without a fault.
    pub fn answered(&self) -> Verbs {
        self.verbs_that(|of_verb| of_verb.has_answered)
    }

    /// The verbs that have failed, and of which no call has ended without a fault.
    pub fn only_failed(&self) -> Verbs {
        self.verbs_that(|of_verb| of_verb.faults > 0 && !of_verb.has_answered)
    }

    /// A verb whose first calls have all failed, five or more and about two pods or more, with the last fault.
    pub fn failed_from_start(&self) -> Option<(Verb, Fault)> {
        let failed = self.verbs_that(|of_verb| of_verb.has_failed_enough() && !of_verb.has_answered).iter().next()?;
        Some((failed, self.verbs.lock()[failed as usize].last.clone()?))
    }

    fn verbs_that(&self, are: impl Fn(&VerbCircuit) -> bool) -> Verbs {
        let verbs = self.verbs.lock();
        Verb::ALL.into_iter().filter(|verb| are(&verbs[*verb as usize])).collect()
    }
}

// === impl VerbCircuit ===

impl VerbCircuit {
    fn is_open(&self, now: Instant) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    /// Whether there were enough faults to open the circuit.
    fn has_failed_enough(&self) -> bool {
        self.faults >= FAULTS_TO_OPEN && self.has_other_pods
    }
}

#[cfg(test)]
mod tests;
