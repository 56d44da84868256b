//! The pause before the API server gets another request.

use std::time::Duration;

use crate::clock;

/// Waits double from failure to failure; each is cut by a random part, so that replicas do not come back
/// all at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    max: Duration,
    failures: u32,
}

// === impl Backoff ===

impl Backoff {
    /// The first wait is `first` at the most, and none is longer than `max`.
    pub(crate) fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, failures: 0 }
    }

    /// After a success, the next wait is short again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// The pause after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let whole = self.first.saturating_mul(1 << (self.failures - 1).min(16)).min(self.max);
        whole / 2 + (whole / 2).mul_f64(random())
    }

    /// The number of failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}

/// From 0 to 1.
pub(crate) fn random() -> f64 {
    f64::from(clock::random() as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_start_again_after_a_success() {
        let (first, max) = (Duration::from_millis(100), Duration::from_secs(10));
        let mut backoff = Backoff::new(first, max);
        for failure in 0..40u32 {
            let whole = first.saturating_mul(1 << failure.min(16)).min(max);
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "failure {failure}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= first);
    }

    #[test]
    fn two_replicas_do_not_wait_alike() {
        let waits: Vec<f64> = (0..8).map(|_| random()).collect();
        assert!(waits.windows(2).any(|pair| (pair[0] - pair[1]).abs() > f64::EPSILON), "{waits:?}");
        assert!(waits.iter().all(|part| (0.0..=1.0).contains(part)));
    }
}
