//! A policy that fails again and again is not asked for a while.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{FailedCall, Fault, Verb, View};

/// Faults in a row that open the circuit.
pub const FAULTS_TO_OPEN: u32 = 5;

/// The time that a circuit stays open.
pub const OPEN_TIME: Duration = Duration::from_secs(10);

/// Counts the faults in a row of one policy. Every request passes here: an answer takes no lock; only a fault of a
/// policy on probation does, to keep the call that failed.
#[derive(Debug)]
pub struct Circuit {
    born: Instant,
    faults: AtomicU32,
    /// Nanoseconds after `born` until which the circuit is open; 0: closed.
    open_until: AtomicU64,
    /// Whether a call has ended without a fault.
    has_answered: AtomicBool,
    /// Whether failed calls are kept until then.
    is_on_probation: AtomicBool,
    failed: Mutex<Option<FailedCall>>,
}

// === impl Circuit ===

impl Circuit {
    /// A closed circuit.
    pub fn new(now: Instant) -> Self {
        Self {
            born: now,
            faults: AtomicU32::new(0),
            open_until: AtomicU64::new(0),
            has_answered: AtomicBool::new(false),
            is_on_probation: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    /// Whether the policy must not be asked now.
    pub fn is_open(&self, now: Instant) -> bool {
        let until = self.open_until.load(Ordering::Relaxed);
        until != 0 && self.nanos(now) < until
    }

    /// Closes the circuit after a call without fault.
    pub fn succeeded(&self) {
        if !self.has_answered.load(Ordering::Relaxed) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
        // A plain load first: the line stays shared between cores in the steady state.
        if self.faults.load(Ordering::Relaxed) != 0 {
            self.faults.store(0, Ordering::Relaxed);
            self.open_until.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a fault; true if it opened the circuit. After a pause a single fault opens it again.
    pub fn failed(&self, now: Instant) -> bool {
        let faults = self.faults.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let opens = faults >= FAULTS_TO_OPEN && !self.is_open(now);
        if opens {
            self.open_until.store(self.nanos(now + OPEN_TIME), Ordering::Relaxed);
        }
        opens
    }

    /// Whether a call has ended without a fault.
    pub fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// From now on the last failed call is kept, until one has ended without a fault.
    pub fn begin_probation(&self) {
        self.is_on_probation.store(true, Ordering::Relaxed);
    }

    /// Nothing is kept any more.
    pub fn end_probation(&self) {
        self.is_on_probation.store(false, Ordering::Relaxed);
        self.failed.lock().take();
    }

    /// The last failed call, once faults have opened the circuit before any call ended without one.
    pub fn take_failed(&self) -> Option<FailedCall> {
        if self.has_answered() || self.faults.load(Ordering::Relaxed) < FAULTS_TO_OPEN {
            return None;
        }
        self.failed.lock().take()
    }

    pub(crate) fn is_on_probation(&self) -> bool {
        self.is_on_probation.load(Ordering::Relaxed) && !self.has_answered()
    }

    /// Keeps a call that failed, if that is of interest.
    pub(crate) fn keep_failed(&self, verb: Verb, view: &Arc<View>, fault: &Fault) {
        if self.is_on_probation() {
            *self.failed.lock() = Some(FailedCall::new(verb, view, fault));
        }
    }

    fn nanos(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.born).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_faults_in_a_row_open_the_circuit_for_ten_seconds() {
        let start = Instant::now();
        let circuit = Circuit::new(start);
        for _ in 0..4 {
            assert!(!circuit.failed(start));
            assert!(!circuit.is_open(start));
        }
        assert!(circuit.failed(start));
        assert!(circuit.is_open(start));
        assert!(circuit.is_open(start + Duration::from_millis(9_999)));
        assert!(!circuit.is_open(start + OPEN_TIME));
    }

    #[test]
    fn a_success_in_between_starts_the_count_again() {
        let now = Instant::now();
        let circuit = Circuit::new(now);
        for round in 0..20 {
            assert!(!circuit.failed(now));
            if round % 4 == 3 {
                circuit.succeeded();
            }
        }
    }

    #[test]
    fn a_failed_call_is_kept_only_on_probation_and_only_before_the_first_success() {
        let (now, view) = (Instant::now(), Arc::new(View::empty(Arc::from("null"))));
        let fault = Fault::new(crate::FaultKind::Trap, "it fails");
        let fail = |circuit: &Circuit| {
            circuit.failed(now);
            circuit.keep_failed(Verb::Filter, &view, &fault);
        };
        let circuit = Circuit::new(now);
        (0..5).for_each(|_| fail(&circuit));
        assert!(circuit.take_failed().is_none(), "nobody wanted to know");
        let circuit = Circuit::new(now);
        circuit.begin_probation();
        (0..4).for_each(|_| fail(&circuit));
        assert!(circuit.take_failed().is_none(), "it may still recover");
        fail(&circuit);
        assert_eq!(circuit.take_failed().unwrap().fault(), &fault);
        let circuit = Circuit::new(now);
        circuit.begin_probation();
        circuit.succeeded();
        (0..5).for_each(|_| fail(&circuit));
        assert!(circuit.take_failed().is_none() && circuit.has_answered());
    }

    #[test]
    fn after_the_pause_one_fault_opens_it_again_and_one_success_closes_it() {
        let start = Instant::now();
        let circuit = Circuit::new(start);
        for _ in 0..5 {
            circuit.failed(start);
        }
        let later = start + OPEN_TIME;
        assert!(circuit.failed(later));
        assert!(circuit.is_open(later));
        circuit.succeeded();
        assert!(!circuit.is_open(later));
        assert!(!circuit.failed(later));
    }
}
