//! Whether the process has stood still: frozen by a signal, paused with its machine, or without a processor.
//!
//! What it knows of the cluster is then as old as the pause, and requests that came meanwhile are answered first.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A pause this long counts: a cluster changes little in less, and no busy machine keeps a thread waiting for it.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Told at short intervals that the process runs; a request sees by it whether that was so until it came.
#[derive(Debug)]
pub struct Pulse {
    started: Instant,
    /// Milliseconds after `started`.
    last: AtomicU64,
    is_behind: AtomicBool,
}

// === impl Pulse ===

impl Pulse {
    /// One that beats from this moment on.
    pub fn new(now: Instant) -> Self {
        Self { started: now, last: AtomicU64::new(0), is_behind: AtomicBool::new(false) }
    }

    /// The process runs. `elapsed` is what another clock says since the last beat: one that may go on while the
    /// machine is suspended. Returns how long it has stood still, if that counts.
    pub fn beat(&self, now: Instant, elapsed: Duration) -> Option<Duration> {
        let pause = self.since(now).max(elapsed);
        let is_long = pause > LONGEST_PAUSE;
        if is_long {
            // Before the beat: no request may come between.
            self.is_behind.store(true, Ordering::Release);
        }
        self.last.store(self.millis(now), Ordering::Release);
        is_long.then_some(pause)
    }

    /// The view of the cluster has caught up.
    pub fn caught_up(&self) {
        self.is_behind.store(false, Ordering::Release);
    }

    /// Whether a request that came at this moment must not be answered from the view of the cluster.
    pub fn is_behind(&self, received: Instant) -> bool {
        self.is_behind.load(Ordering::Acquire) || self.since(received) > LONGEST_PAUSE
    }

    /// The time from the last beat to this moment.
    fn since(&self, at: Instant) -> Duration {
        Duration::from_millis(self.millis(at).saturating_sub(self.last.load(Ordering::Acquire)))
    }

    fn millis(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.started).as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_pause_nothing_is_answered_until_the_view_has_caught_up() {
        let start = Instant::now();
        let (pulse, at) = (Pulse::new(start), |millis| start + Duration::from_millis(millis));
        let tick = Duration::from_millis(250);
        assert_eq!(pulse.beat(at(250), tick), None);
        assert!(!pulse.is_behind(at(2_200)), "late, as on a busy machine");
        // Queued requests are looked at before the next beat.
        assert!(pulse.is_behind(at(20_000)));
        assert_eq!(pulse.beat(at(20_000), tick), Some(Duration::from_millis(19_750)));
        assert!(pulse.is_behind(at(20_001)));
        assert_eq!(pulse.beat(at(20_250), tick), None);
        assert!(pulse.is_behind(at(20_250)), "not before it has caught up");
        pulse.caught_up();
        assert!(!pulse.is_behind(at(20_300)));
        // A machine that was suspended: only the other clock went on.
        assert_eq!(pulse.beat(at(20_500), Duration::from_mins(5)), Some(Duration::from_mins(5)));
        assert!(pulse.is_behind(at(20_501)));
    }
}
