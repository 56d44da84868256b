//! A bound on the calls that are under way at once: each has its room in the pool of instances.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{
            AtomicU32,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::Instant,
};

/// Counts free turns. Taking one is a single atomic operation unless all are taken.
pub(crate) struct Slots {
    free: AtomicU32,
    waiting: AtomicU32,
    queue: Mutex<()>,
    returned: Condvar,
}

/// A turn; given back when it is dropped.
pub(crate) struct Slot<'s>(&'s Slots);

// === impl Slots ===

impl Slots {
    pub(crate) fn new(count: u32) -> Self {
        Self {
            free: AtomicU32::new(count),
            waiting: AtomicU32::new(0),
            queue: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// A turn; none if there is none until the deadline.
    pub(crate) fn take(&self, deadline: Instant) -> Option<Slot<'_>> {
        self.try_take().or_else(|| self.wait(deadline))
    }

    fn try_take(&self) -> Option<Slot<'_>> {
        self.free.fetch_update(SeqCst, Relaxed, |free| free.checked_sub(1)).ok().map(|_| Slot(self))
    }

    fn wait(&self, deadline: Instant) -> Option<Slot<'_>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_add(1, SeqCst);
        // Whoever gives a turn back after this looks at `waiting`, and rings only when we wait.
        let slot = loop {
            if let Some(slot) = self.try_take() {
                break Some(slot);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break None;
            }
            queue = self.returned.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        self.waiting.fetch_sub(1, SeqCst);
        slot
    }
}

// === impl Slot ===

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, SeqCst);
        if self.0.waiting.load(SeqCst) > 0 {
            // Held while ringing, so that the bell is not missed between a look and a wait.
            let _queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    #[test]
    fn a_call_beyond_the_bound_waits_until_its_deadline() {
        let slots = Slots::new(1);
        let first = slots.take(Instant::now()).unwrap();
        assert!(slots.take(Instant::now() + Duration::from_millis(5)).is_none());
        drop(first);
        assert!(slots.take(Instant::now()).is_some());
    }

    #[test]
    fn a_turn_that_is_given_back_goes_to_who_waits() {
        let slots = Slots::new(1);
        let deadline = Instant::now() + Duration::from_secs(20);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..200).for_each(|_| drop(slots.take(deadline).unwrap())));
            }
        });
        assert!(Instant::now() < deadline);
        assert_eq!(slots.free.load(SeqCst), 1);
    }
}
