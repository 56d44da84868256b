//! Counts changes of the cluster, for those who wait for the next one.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Maximum number of binds that wait at a time. Each holds the permit of its request, and other binds need theirs.
const MAX_WAITING: usize = 32;

/// The number of clusters that have come into force.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    count: u64,
    waiting: usize,
}

/// One that waits.
struct Waiter<'c>(&'c Changes);

// === impl Changes ===

impl Changes {
    /// Another cluster is in force.
    pub(crate) fn notify(&self) {
        self.state.lock().count += 1;
        self.changed.notify_all();
    }

    /// Waits until `is_so` holds, which is asked now and after each change. Returns whether it came to hold in time; it
    /// is not waited for while too many others wait.
    pub(crate) fn wait_until(&self, timeout: Duration, is_so: impl Fn() -> bool) -> bool {
        let started = Instant::now();
        let Some(_waiter) = self.waiter() else { return is_so() };
        loop {
            let seen = self.state.lock().count;
            if is_so() {
                return true;
            }
            let mut state = self.state.lock();
            while state.count == seen {
                let left = timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
                let Some(left) = left else { return false };
                self.changed.wait_for(&mut state, left);
            }
        }
    }

    fn waiter(&self) -> Option<Waiter<'_>> {
        let mut state = self.state.lock();
        let is_free = state.waiting < MAX_WAITING;
        state.waiting += usize::from(is_free);
        is_free.then(|| Waiter(self))
    }
}

// === impl Waiter ===

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.state.lock().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn what_is_waited_for_is_looked_at_after_each_change_and_never_missed() {
        let (changes, at) = (Changes::default(), AtomicU32::new(0));
        let is_at = |wanted| move |at: &AtomicU32| at.load(Ordering::Relaxed) >= wanted;
        assert!(!changes.wait_until(Duration::from_millis(1), || is_at(1)(&at)));
        assert!(changes.wait_until(Duration::ZERO, || is_at(0)(&at)));
        thread::scope(|scope| {
            let waits = scope.spawn(|| changes.wait_until(Duration::from_mins(1), || is_at(3)(&at)));
            for _ in 0..3 {
                at.fetch_add(1, Ordering::Relaxed);
                changes.notify();
            }
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn one_too_many_is_not_kept_waiting() {
        let (changes, done) = (Changes::default(), AtomicU32::new(0));
        let waiters: Vec<_> = (0..MAX_WAITING).map_while(|_| changes.waiter()).collect();
        assert_eq!(waiters.len(), MAX_WAITING);
        assert!(!changes.wait_until(Duration::from_hours(1), || done.load(Ordering::Relaxed) > 0));
        drop(waiters);
        done.store(1, Ordering::Relaxed);
        assert!(changes.wait_until(Duration::from_hours(1), || done.load(Ordering::Relaxed) > 0));
    }
}
