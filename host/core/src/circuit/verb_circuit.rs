//! The circuit of one verb.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{FailedCall, Pod};

/// Faults in a row that open the circuit.
pub const FAULTS_TO_OPEN: u32 = 5;

/// The time that a circuit stays open.
pub const OPEN_TIME: Duration = Duration::from_secs(10);

/// The time after its last fault from which an answer about any pod clears a suspect: longer than a pause and the
/// longest back-off of kube-scheduler together, so that a pod which comes again after each pause stays a suspect.
const SUSPECT_TIME: Duration = Duration::from_mins(1);

/// The calls that a circuit does not allow now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Those of the verb, whatever the pod: the circuit is open.
    AllPods,
    /// Those of the verb about this pod, because its last calls about this pod failed.
    ThisPod,
}

/// The faults of one verb of one policy.
#[derive(Debug, Default)]
pub(super) struct VerbCircuit {
    /// Whether there is a fault to look at. It is only changed under the lock.
    has_faults: AtomicBool,
    /// Whether a call has ended without a fault.
    has_answered: AtomicBool,
    faults: Mutex<Faults>,
}

#[derive(Debug, Default)]
struct Faults {
    /// The number of faults since the last call without one.
    in_row: u32,
    /// The pod of the first of them since the circuit was last open, and whether there is another.
    first: u64,
    has_others: bool,
    open_until: Option<Instant>,
    suspect: Option<Suspect>,
    /// The last failed call, while the version is on probation.
    failed: Option<FailedCall>,
}

/// The pod of the last fault: answers about other pods do not clear it.
#[derive(Debug)]
struct Suspect {
    pod: u64,
    /// The number of faults about it since the last answer about it.
    faults: u32,
    last: Instant,
    paused_until: Option<Instant>,
}

// === impl VerbCircuit ===

impl VerbCircuit {
    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.has_faults.load(Ordering::Relaxed) && self.faults.lock().is_open(now)
    }

    pub(super) fn pause(&self, pod: &Pod, now: Instant) -> Option<Pause> {
        if !self.has_faults.load(Ordering::Relaxed) {
            return None;
        }
        let pod = key_of(pod);
        let faults = self.faults.lock();
        if faults.is_open(now) {
            return Some(Pause::AllPods);
        }
        faults.suspect.as_ref().filter(|suspect| suspect.is_paused(pod, now)).map(|_| Pause::ThisPod)
    }

    pub(super) fn succeeded(&self, pod: &Pod, now: Instant) {
        // Plain loads first: the line stays shared between cores in the steady state.
        if !self.has_answered.load(Ordering::Relaxed) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
        if !self.has_faults.load(Ordering::Relaxed) {
            return;
        }
        let pod = key_of(pod);
        let mut faults = self.faults.lock();
        (faults.in_row, faults.open_until) = (0, None);
        faults.suspect.take_if(|suspect| suspect.pod == pod || now >= suspect.last + SUSPECT_TIME);
        self.has_faults.store(faults.suspect.is_some(), Ordering::Relaxed);
    }

    pub(super) fn failed(&self, pod: &Pod, now: Instant) -> bool {
        let pod = key_of(pod);
        let mut faults = self.faults.lock();
        self.has_faults.store(true, Ordering::Relaxed);
        faults.add(pod, now)
    }

    pub(super) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    pub(super) fn has_only_failed(&self) -> bool {
        !self.has_answered() && self.faults.lock().in_row > 0
    }

    pub(super) fn has_failed_from_the_start(&self) -> bool {
        !self.has_answered() && self.faults.lock().in_row >= FAULTS_TO_OPEN
    }

    pub(super) fn keep_failed(&self, call: FailedCall) {
        self.faults.lock().failed = Some(call);
    }

    pub(super) fn take_failed(&self) -> Option<FailedCall> {
        let mut faults = self.faults.lock();
        let is_of_one_pod = !faults.has_others;
        faults.failed.take().map(|call| call.of_one_pod(is_of_one_pod))
    }
}

// === impl Faults ===

impl Faults {
    fn is_open(&self, now: Instant) -> bool {
        self.open_until.is_some_and(|until| now < until)
    }

    /// Counts a fault; true if it opened the circuit.
    fn add(&mut self, pod: u64, now: Instant) -> bool {
        let is_open = self.is_open(now);
        self.in_row = self.in_row.saturating_add(1);
        if self.in_row == 1 || (self.open_until.is_some() && !is_open) {
            (self.first, self.has_others, self.open_until) = (pod, false, None);
        } else {
            self.has_others |= pod != self.first;
        }
        self.suspect_pod(pod, now);
        if is_open {
            return false;
        }
        let may_open = self.in_row >= FAULTS_TO_OPEN;
        if may_open && self.has_others {
            self.open_until = Some(now + OPEN_TIME);
            return true;
        }
        if let Some(suspect) = self.suspect.as_mut().filter(|suspect| may_open || suspect.faults >= FAULTS_TO_OPEN) {
            suspect.paused_until = Some(now + OPEN_TIME);
        }
        false
    }

    fn suspect_pod(&mut self, pod: u64, now: Instant) {
        let before = self.suspect.take().filter(|suspect| suspect.pod == pod);
        let suspect = before.unwrap_or(Suspect { pod, faults: 0, last: now, paused_until: None });
        self.suspect = Some(Suspect { faults: suspect.faults.saturating_add(1), last: now, ..suspect });
    }
}

// === impl Suspect ===

impl Suspect {
    /// Whether the policy must not be called about this pod.
    fn is_paused(&self, pod: u64, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| now < until) && pod == self.pod
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
