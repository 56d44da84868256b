//! Whether the process has stood still: frozen by a signal, paused with its machine, or without a processor.
//!
//! Its view of the cluster is then as old as the pause, and requests that came meanwhile are answered first.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// A pause this long counts: a cluster changes little in less, and no busy machine keeps a thread waiting for it.
pub const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Beats at short intervals while the process runs: a request sees by it whether the process has run until it came.
#[derive(Debug)]
pub struct Heartbeat {
    started: Instant,
    /// Milliseconds after `started`.
    last: AtomicU64,
    pauses: AtomicU64,
    /// The number of the newest pause, until the view of the cluster has caught up with it; 0: it has.
    behind: AtomicU64,
}

/// The process has stood still.
#[derive(Debug)]
pub struct Pause {
    /// For how long.
    pub length: Duration,
    /// Pauses are counted from 1.
    number: u64,
}

// === impl Heartbeat ===

impl Heartbeat {
    /// One that beats from this moment on.
    pub fn new(now: Instant) -> Self {
        Self { started: now, last: AtomicU64::new(0), behind: AtomicU64::new(0), pauses: AtomicU64::new(0) }
    }

    /// The process runs. `elapsed` is the time since the last beat by a clock that goes on while the machine is
    /// suspended. Returns how long the process has stood still, if that counts.
    pub fn beat(&self, now: Instant, elapsed: Duration) -> Option<Pause> {
        let length = self.since(now).max(elapsed);
        let pause = (length > MAX_PAUSE).then(|| {
            let number = self.pauses.fetch_add(1, Ordering::Relaxed) + 1;
            // Before the beat: no request may come between.
            self.behind.store(number, Ordering::Release);
            Pause { length, number }
        });
        self.last.store(self.millis(now), Ordering::Release);
        pause
    }

    /// The view of the cluster has caught up with a pause. If there was another one meanwhile, it is behind still.
    pub fn caught_up(&self, pause: &Pause) {
        let _ = self.behind.compare_exchange(pause.number, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether a request that came at this moment must not be answered from the view of the cluster.
    pub fn is_stale(&self, received: Instant) -> bool {
        self.behind.load(Ordering::Acquire) != 0 || self.since(received) > MAX_PAUSE
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
        let (heartbeat, at) = (Heartbeat::new(start), |millis| start + Duration::from_millis(millis));
        let tick = Duration::from_millis(250);
        let length = |pause: Option<Pause>| pause.map(|pause| pause.length);
        assert_eq!(length(heartbeat.beat(at(250), tick)), None);
        assert!(!heartbeat.is_stale(at(2_200)), "late, as on a busy machine");
        // Queued requests are looked at before the next beat.
        assert!(heartbeat.is_stale(at(20_000)));
        let pause = heartbeat.beat(at(20_000), tick).unwrap();
        assert_eq!(pause.length, Duration::from_millis(19_750));
        assert!(heartbeat.is_stale(at(20_001)));
        assert_eq!(length(heartbeat.beat(at(20_250), tick)), None);
        assert!(heartbeat.is_stale(at(20_250)), "not before it has caught up");
        heartbeat.caught_up(&pause);
        assert!(!heartbeat.is_stale(at(20_300)));
        // A machine that was suspended: only the other clock went on.
        assert_eq!(length(heartbeat.beat(at(20_500), Duration::from_mins(5))), Some(Duration::from_mins(5)));
        assert!(heartbeat.is_stale(at(20_501)));
    }

    #[test]
    fn to_catch_up_with_one_pause_is_not_to_catch_up_with_the_next() {
        let start = Instant::now();
        let (heartbeat, at) = (Heartbeat::new(start), |seconds| start + Duration::from_secs(seconds));
        let first = heartbeat.beat(at(10), Duration::ZERO).unwrap();
        let second = heartbeat.beat(at(20), Duration::ZERO).unwrap();
        heartbeat.caught_up(&first);
        assert!(heartbeat.is_stale(at(20)));
        heartbeat.caught_up(&second);
        assert!(!heartbeat.is_stale(at(20)));
    }
}
