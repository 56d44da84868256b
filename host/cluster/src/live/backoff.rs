//! How long to wait before the API server is asked again.

use std::time::Duration;

use crate::clock;

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);

/// Waits double from failure to failure; each is cut by a random part, so that replicas do not come back
/// all at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

// === impl Backoff ===

impl Backoff {
    /// After a success, the next wait is short again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after one more failure.
    pub(super) fn next(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let whole = FIRST.saturating_mul(1 << (self.failures - 1).min(16)).min(LONGEST);
        whole / 2 + (whole / 2).mul_f64(random())
    }

    /// How many failures there were in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }
}

/// From 0 to 1.
pub(super) fn random() -> f64 {
    f64::from(clock::random() as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_start_again_after_a_success() {
        let mut backoff = Backoff::default();
        for failure in 0..40u32 {
            let whole = FIRST.saturating_mul(1 << failure.min(16)).min(LONGEST);
            let wait = backoff.next();
            assert!(wait >= whole / 2 && wait <= whole, "failure {failure}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }

    #[test]
    fn two_replicas_do_not_wait_alike() {
        let waits: Vec<f64> = (0..8).map(|_| random()).collect();
        assert!(waits.windows(2).any(|pair| (pair[0] - pair[1]).abs() > f64::EPSILON), "{waits:?}");
        assert!(waits.iter().all(|part| (0.0..=1.0).contains(part)));
    }
}
