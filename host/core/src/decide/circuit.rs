//! A policy whose calls of a verb fail again and again is not asked it for a while.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::model::{Fault, Pod, Verb, Verbs};

/// Faults in a row that open the circuit of a verb, if they are about two pods or more.
pub const FAULTS_TO_OPEN: u32 = 5;

/// The time that a circuit stays open.
pub const OPEN_TIME: Duration = Duration::from_secs(10);

/// The circuits of one policy, one for each verb: a score that fails must not stop a filter that works.
///
/// One pod alone opens no circuit, since it may be the cause of its faults. After the pause, one more fault opens the
/// circuit again and one answer closes it. Every call passes here; without faults it takes no lock.
#[derive(Debug, Default)]
pub struct Circuit {
    verbs: [VerbCircuit; Verb::ALL.len()],
}

#[derive(Debug, Default)]
struct VerbCircuit {
    /// Whether a call has ended without a fault.
    has_answered: AtomicBool,
    /// Whether there were faults since then. It is only changed under the lock.
    has_faults: AtomicBool,
    faults: Mutex<Faults>,
}

/// The faults since the last call without one.
#[derive(Debug, Default)]
struct Faults {
    count: u32,
    /// The pod of the first of them, and whether others are about other pods.
    first_pod: u64,
    has_other_pods: bool,
    last: Option<Fault>,
    open_until: Option<Instant>,
}

// === impl Circuit ===

impl Circuit {
    /// Whether the policy must not be asked the verb now.
    pub(crate) fn is_open(&self, verb: Verb, now: Instant) -> bool {
        let of_verb = self.of(verb);
        of_verb.has_faults.load(Ordering::Relaxed) && of_verb.faults.lock().is_open(now)
    }

    /// The verbs that the policy must not be asked now.
    pub fn open_verbs(&self, now: Instant) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| self.is_open(*verb, now)).collect()
    }

    /// Closes the circuit of the verb after a call without fault.
    pub(crate) fn succeeded(&self, verb: Verb) {
        let of_verb = self.of(verb);
        // Plain loads first: the line stays shared between cores in the steady state.
        if !of_verb.has_answered.load(Ordering::Relaxed) {
            of_verb.has_answered.store(true, Ordering::Relaxed);
        }
        if of_verb.has_faults.load(Ordering::Relaxed) {
            let mut faults = of_verb.faults.lock();
            *faults = Faults::default();
            of_verb.has_faults.store(false, Ordering::Relaxed);
        }
    }

    /// Counts a fault about a pod; true if it opened the circuit.
    pub(crate) fn failed(&self, verb: Verb, pod: &Pod, fault: &Fault, now: Instant) -> bool {
        let of_verb = self.of(verb);
        let mut faults = of_verb.faults.lock();
        of_verb.has_faults.store(true, Ordering::Relaxed);
        faults.add(key_of(pod), fault, now)
    }

    /// Whether a call of the verb has ended without a fault.
    pub fn has_answered(&self, verb: Verb) -> bool {
        self.of(verb).has_answered.load(Ordering::Relaxed)
    }

    /// The verbs of which a call has ended without a fault.
    pub fn answered(&self) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| self.has_answered(*verb)).collect()
    }

    /// The verbs that have failed, and of which no call has ended without a fault.
    pub fn only_failed(&self) -> Verbs {
        let has_faults = |verb: &Verb| self.of(*verb).has_faults.load(Ordering::Relaxed);
        Verb::ALL.into_iter().filter(|verb| has_faults(verb) && !self.has_answered(*verb)).collect()
    }

    /// A verb whose first calls have all failed, five or more and about two pods or more, with the last fault.
    pub fn failed_from_start(&self) -> Option<(Verb, Fault)> {
        self.only_failed().iter().find_map(|verb| {
            let faults = self.of(verb).faults.lock();
            faults.opens().then(|| faults.last.clone()).flatten().map(|fault| (verb, fault))
        })
    }

    fn of(&self, verb: Verb) -> &VerbCircuit {
        &self.verbs[verb as usize]
    }
}

// === impl Faults ===

impl Faults {
    fn is_open(&self, now: Instant) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    /// Whether they are enough to open the circuit.
    fn opens(&self) -> bool {
        self.count >= FAULTS_TO_OPEN && self.has_other_pods
    }

    /// Counts a fault; true if it opened the circuit.
    fn add(&mut self, pod: u64, fault: &Fault, now: Instant) -> bool {
        if self.count == 0 {
            self.first_pod = pod;
        }
        self.has_other_pods |= pod != self.first_pod;
        self.count = self.count.saturating_add(1);
        self.last = Some(fault.clone());
        if !self.opens() || self.is_open(now) {
            return false;
        }
        self.open_until = Some(now + OPEN_TIME);
        true
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

#[cfg(test)]
mod tests;
