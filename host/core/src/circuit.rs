//! A policy that fails again and again is not asked for a while.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Faults in a row that open the circuit.
pub const FAULTS_TO_OPEN: u32 = 5;

/// How long an open circuit stays open.
pub const OPEN_FOR: Duration = Duration::from_secs(10);

/// Counts the faults in a row of one policy; no lock, since every request passes here.
#[derive(Debug)]
pub struct Circuit {
    born: Instant,
    faults: AtomicU32,
    /// Nanoseconds after `born` until which the circuit is open; 0: closed.
    open_until: AtomicU64,
}

// === impl Circuit ===

impl Circuit {
    /// A closed circuit.
    pub fn new(now: Instant) -> Self {
        Self { born: now, faults: AtomicU32::new(0), open_until: AtomicU64::new(0) }
    }

    /// Whether the policy must not be asked now.
    pub fn is_open(&self, now: Instant) -> bool {
        let until = self.open_until.load(Ordering::Relaxed);
        until != 0 && self.nanos(now) < until
    }

    /// Closes the circuit after a call without fault.
    pub fn succeeded(&self) {
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
            self.open_until.store(self.nanos(now + OPEN_FOR), Ordering::Relaxed);
        }
        opens
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
        assert!(!circuit.is_open(start + OPEN_FOR));
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
    fn after_the_pause_one_fault_opens_it_again_and_one_success_closes_it() {
        let start = Instant::now();
        let circuit = Circuit::new(start);
        for _ in 0..5 {
            circuit.failed(start);
        }
        let later = start + OPEN_FOR;
        assert!(circuit.failed(later));
        assert!(circuit.is_open(later));
        circuit.succeeded();
        assert!(!circuit.is_open(later));
        assert!(!circuit.failed(later));
    }
}
