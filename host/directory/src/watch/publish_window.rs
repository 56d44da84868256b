//! The times at which changes are published while other policies are still being loaded.

use std::time::{Duration, Instant};

/// The time that a batch of changes is held back until all of them are loaded, so that they are published together.
const BATCH_WINDOW: Duration = Duration::from_millis(250);

/// The longest time that a change is held back because more jobs begin.
const MAX_HOLD: Duration = Duration::from_secs(1);

/// Publishing costs time for every policy of the roster, so 2,000 outcomes must not be published one by one.
pub(super) struct PublishWindow {
    /// Until when changes wait for jobs in progress.
    end: Instant,
    /// Since when a change waits.
    held_since: Option<Instant>,
}

// === impl PublishWindow ===

impl PublishWindow {
    pub(super) fn new(now: Instant) -> Self {
        Self { end: now, held_since: None }
    }

    /// Until when changes wait for jobs in progress.
    pub(super) fn end(&self) -> Instant {
        self.end
    }

    /// Records that jobs begin, whose changes are to be published together.
    pub(super) fn begin_jobs(&mut self, now: Instant) {
        let latest = self.held_since.map(|since| since + MAX_HOLD);
        let end = latest.into_iter().fold(now + BATCH_WINDOW, Instant::min);
        self.end = self.end.max(end);
    }

    /// Whether a change that waits is published now; without jobs in progress it never waits.
    pub(super) fn is_over(&mut self, now: Instant, under_way: usize) -> bool {
        self.held_since.get_or_insert(now);
        under_way == 0 || self.end <= now
    }

    /// Records that all changes were published, from `began` on; the next ones wait at least as long as that took.
    pub(super) fn published(&mut self, began: Instant, now: Instant) {
        self.held_since = None;
        self.end = now + BATCH_WINDOW.max(now.saturating_duration_since(began));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Publishes changes that come every 10 ms; returns the number of times. Publishing takes `cost`.
    fn publishes(changes: u32, cost: Duration, mut at_change: impl FnMut(&mut PublishWindow, Instant)) -> u32 {
        let mut now = Instant::now();
        let (mut window, mut count) = (PublishWindow::new(now), 0);
        window.begin_jobs(now);
        for left in (0..changes).rev() {
            now += 10 * MILLISECOND;
            at_change(&mut window, now);
            if window.is_over(now, left as usize) {
                count += 1;
                window.published(now, now + cost);
                now += cost;
            }
        }
        count
    }

    #[test]
    fn outcomes_of_many_jobs_are_published_together() {
        // 5 s, and a window of 250 ms; the last one is published at once.
        assert_eq!(publishes(500, Duration::ZERO, |_, _| ()), 5_000 / 250);
    }

    #[test]
    fn publishing_takes_at_most_half_of_the_time() {
        let cost = Duration::from_secs(1);
        assert_eq!(publishes(500, cost, |_, _| ()), 5 + 1, "5 s of loading, and pauses of 1 s");
    }

    #[test]
    fn jobs_that_begin_all_the_time_do_not_hold_back_a_change_for_ever() {
        let count = publishes(500, Duration::ZERO, PublishWindow::begin_jobs);
        assert!((4..=5).contains(&count), "{count}");
    }

    #[test]
    fn a_change_does_not_wait_if_no_job_is_in_progress() {
        let now = Instant::now();
        let mut window = PublishWindow::new(now);
        window.published(now, now);
        assert!(!window.is_over(now, 1));
        assert!(window.is_over(now, 0));
    }
}
