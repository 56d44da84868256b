//! When a remembered answer is asked again.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Rechecks may take one part in so many of the time of one core.
const SHARE: u32 = 100;

/// Counts remembered answers: every so many, one is to be asked again.
#[derive(Debug)]
pub(crate) struct Recheck {
    every: u64,
    remembered: AtomicU64,
    born: Instant,
    /// Nanoseconds after `born` until which nothing is asked again.
    rests_until: AtomicU64,
}

// === impl Recheck ===

impl Recheck {
    /// One in so many; 0: none.
    pub(crate) fn new(every: u64, now: Instant) -> Self {
        Self { every, remembered: AtomicU64::new(0), born: now, rests_until: AtomicU64::new(0) }
    }

    /// Counts answers; where one of them is to be asked again, which it is of so many nodes.
    pub(crate) fn due(&self, remembered: usize, nodes: usize, now: Instant) -> Option<usize> {
        if self.every == 0 || remembered == 0 {
            return None;
        }
        let before = self.remembered.fetch_add(remembered as u64, Ordering::Relaxed);
        let is_due = before / self.every != (before + remembered as u64) / self.every;
        let rested = self.nanos(now) >= self.rests_until.load(Ordering::Relaxed);
        // Another node each time, wherever the count stands.
        (is_due && rested).then(|| (before.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % nodes.max(1))
    }

    /// A recheck took so long.
    pub(crate) fn rest(&self, now: Instant, took: Duration) {
        self.rests_until.store(self.nanos(now + took * SHARE), Ordering::Relaxed);
    }

    fn nanos(&self, moment: Instant) -> u64 {
        u64::try_from(moment.saturating_duration_since(self.born).as_nanos()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_is_due_unless_the_last_has_just_been() {
        let now = Instant::now();
        let recheck = Recheck::new(1_000, now);
        assert_eq!(recheck.due(999, 10, now), None);
        assert!(recheck.due(1, 10, now).is_some_and(|node| node < 10));
        assert_eq!(recheck.due(0, 10, now), None);
        recheck.rest(now, Duration::from_millis(1));
        assert_eq!(recheck.due(5_000, 10, now + Duration::from_millis(99)), None);
        assert!(recheck.due(5_000, 10, now + Duration::from_millis(100)).is_some());
        assert_eq!(Recheck::new(0, now).due(5_000, 10, now), None);
    }
}
