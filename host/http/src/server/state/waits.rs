//! The time for which the peer of a connection is awaited.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Since when each body is awaited, in milliseconds after `opened`. An h2 connection has several at once: each counts
/// by itself, so that neither quick ones after one another look slow, nor a slow one hides among them.
#[derive(Default)]
pub(super) struct PendingBodies(Mutex<Vec<u64>>);

/// The number of replies that the peer is awaited for, and the start of the wait in milliseconds after `opened`.
#[derive(Default)]
pub(super) struct PendingReplies {
    count: AtomicUsize,
    since: AtomicU64,
}

// === impl PendingBodies ===

impl PendingBodies {
    pub(super) fn begin(&self, now: u64) {
        self.0.lock().push(now);
    }

    /// One that was awaited since then has come, or never will.
    pub(super) fn end(&self, began: u64) {
        let mut since = self.0.lock();
        if let Some(at) = since.iter().position(|since| *since == began) {
            since.swap_remove(at);
        }
    }

    pub(super) fn oldest(&self) -> Option<u64> {
        self.0.lock().iter().min().copied()
    }
}

// === impl PendingReplies ===

impl PendingReplies {
    pub(super) fn begin(&self, now: impl FnOnce() -> u64) {
        if !self.is_any() {
            self.since.store(now(), Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// One of them is read. The wait for the others begins now.
    pub(super) fn end(&self, now: u64) {
        self.since.store(now, Ordering::Relaxed);
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn is_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(super) fn since(&self) -> Option<u64> {
        self.is_any().then(|| self.since.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_overlap_on_one_connection_do_not_make_it_slow() {
        let bodies = PendingBodies::default();
        for at in 0..100 {
            bodies.begin(at);
            if at > 0 {
                bodies.end(at - 1);
            }
            assert_eq!(bodies.oldest(), Some(at));
        }
        bodies.end(99);
        assert_eq!(bodies.oldest(), None);
    }

    #[test]
    fn a_slow_body_does_not_hide_among_quick_ones() {
        let bodies = PendingBodies::default();
        bodies.begin(5);
        for at in 5..100 {
            bodies.begin(at);
            bodies.end(at);
            assert_eq!(bodies.oldest(), Some(5));
        }
    }
}
