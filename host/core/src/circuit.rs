//! A policy that fails again and again is not asked for a while.

mod streak;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use self::streak::Streak;
use crate::{FailedCall, Fault, Pod, Verb, View};

/// Faults in a row that open the circuit.
pub const FAULTS_TO_OPEN: u32 = 5;

/// The time that a circuit stays open.
pub const OPEN_TIME: Duration = Duration::from_secs(10);

/// Counts the consecutive faults of one policy. If they are about several pods, the policy is not called for a while; if
/// they are about one pod, which may be the cause, it is only not called about that pod.
///
/// Every request passes here: an answer takes no lock; only faults do, and calls while the last five were faults.
#[derive(Debug)]
pub struct Circuit {
    born: Instant,
    faults: AtomicU32,
    /// Nanoseconds after `born` until which the circuit is open; 0: closed.
    open_until: AtomicU64,
    /// Whether a call has ended without a fault.
    has_answered: AtomicBool,
    /// Whether failed calls are kept until the first call without a fault.
    is_on_probation: AtomicBool,
    failed: Mutex<Option<FailedCall>>,
    streak: Mutex<Streak>,
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
            streak: Mutex::default(),
        }
    }

    /// Whether the policy must not be asked now, whatever the pod.
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

    /// Whether the policy must not be asked about this pod now, because its last calls about this pod alone failed.
    pub fn is_paused_for(&self, pod: &Pod, now: Instant) -> bool {
        self.faults.load(Ordering::Relaxed) >= FAULTS_TO_OPEN && self.streak.lock().is_paused_for(pod, now)
    }

    /// Counts a fault about a pod; true if it opened the circuit. After the pause faults about two pods open it again.
    pub fn failed(&self, pod: &Pod, now: Instant) -> bool {
        let mut streak = self.streak.lock();
        let faults = self.faults.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let was_open = self.open_until.load(Ordering::Relaxed) != 0;
        let is_open = self.is_open(now);
        if faults == 1 || (was_open && !is_open) {
            *streak = Streak::of(pod);
            self.open_until.store(0, Ordering::Relaxed);
        } else {
            streak.add(pod);
        }
        if faults < FAULTS_TO_OPEN || is_open {
            return false;
        }
        if streak.has_others() {
            self.open_until.store(self.nanos(now + OPEN_TIME), Ordering::Relaxed);
        } else {
            streak.pause(now + OPEN_TIME);
        }
        streak.has_others()
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

    /// The last failed call, once five consecutive calls have failed before any call ended without a fault.
    pub fn take_failed(&self) -> Option<FailedCall> {
        if self.has_answered() || self.faults.load(Ordering::Relaxed) < FAULTS_TO_OPEN {
            return None;
        }
        let is_of_one_pod = !self.streak.lock().has_others();
        Some(self.failed.lock().take()?.of_one_pod(is_of_one_pod))
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

    fn pod(uid: &str) -> Pod {
        let json = format!(r#"{{"metadata":{{"name":"p","uid":"{uid}"}}}}"#);
        Pod::from_json(json.into()).unwrap()
    }

    /// A circuit after `faults` consecutive faults, the last of them about another pod.
    fn after_faults(faults: usize, now: Instant) -> Circuit {
        let circuit = Circuit::new(now);
        (1..faults).for_each(|_| assert!(!circuit.failed(&pod("a"), now)));
        circuit.failed(&pod("b"), now);
        circuit
    }

    #[test]
    fn five_faults_in_a_row_open_the_circuit_for_ten_seconds() {
        let start = Instant::now();
        assert!(!after_faults(4, start).is_open(start));
        let circuit = after_faults(5, start);
        assert!(circuit.is_open(start));
        assert!(circuit.is_open(start + Duration::from_millis(9_999)));
        assert!(!circuit.is_open(start + OPEN_TIME));
    }

    #[test]
    fn faults_about_one_pod_close_out_that_pod_alone() {
        let start = Instant::now();
        let circuit = Circuit::new(start);
        for _ in 0..20 {
            assert!(!circuit.failed(&pod("a"), start));
        }
        assert!(!circuit.is_open(start) && circuit.is_paused_for(&pod("a"), start));
        assert!(!circuit.is_paused_for(&pod("b"), start));
        assert!(!circuit.is_paused_for(&pod("a"), start + OPEN_TIME));
        assert!(circuit.failed(&pod("b"), start), "so it is not the pod");
        let nameless = Circuit::new(start);
        for name in ["a", "a", "a", "a", "b"] {
            let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
            assert_eq!(nameless.failed(&Pod::from_json(json.into()).unwrap(), start), name == "b");
        }
    }

    #[test]
    fn a_success_in_between_starts_the_count_again() {
        let now = Instant::now();
        let circuit = Circuit::new(now);
        for round in 0..20 {
            assert!(!circuit.failed(&pod(&round.to_string()), now));
            if round % 4 == 3 {
                circuit.succeeded();
            }
        }
        assert!(!circuit.is_paused_for(&pod("19"), now));
    }

    #[test]
    fn a_failed_call_is_kept_only_on_probation_and_only_before_the_first_success() {
        let (now, view) = (Instant::now(), Arc::new(View::empty(Arc::from("null"))));
        let fault = Fault::new(crate::FaultKind::Trap, "it fails");
        let fail = |circuit: &Circuit| {
            circuit.failed(&pod("a"), now);
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
        let call = circuit.take_failed().unwrap();
        assert_eq!((call.fault(), call.is_of_one_pod()), (&fault, true));
        circuit.failed(&pod("b"), now);
        circuit.keep_failed(Verb::Filter, &view, &fault);
        assert!(!circuit.take_failed().unwrap().is_of_one_pod());
        let circuit = Circuit::new(now);
        circuit.begin_probation();
        circuit.succeeded();
        (0..5).for_each(|_| fail(&circuit));
        assert!(circuit.take_failed().is_none() && circuit.has_answered());
    }

    #[test]
    fn after_the_pause_faults_about_two_pods_open_it_again_and_one_success_closes_it() {
        let start = Instant::now();
        let circuit = after_faults(5, start);
        let later = start + OPEN_TIME;
        assert!(!circuit.failed(&pod("a"), later));
        assert!(circuit.is_paused_for(&pod("a"), later) && !circuit.is_open(later));
        assert!(circuit.failed(&pod("b"), later));
        assert!(circuit.is_open(later));
        circuit.succeeded();
        assert!(!circuit.is_open(later));
        assert!(!circuit.failed(&pod("c"), later));
        assert!(!circuit.is_paused_for(&pod("c"), later));
    }
}
