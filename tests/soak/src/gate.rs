//! Lets actors run, stops them for a quiet time, and ends them.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The state of the gate, which all actors obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// Work.
    Load,
    /// Close all connections and wait.
    #[default]
    Quiet,
    /// Return.
    End,
}

/// Shared by all actors; closed at first.
#[derive(Default)]
pub(crate) struct Gate {
    /// The phase, and the number of actors that wait.
    state: Mutex<(Phase, usize)>,
    changed: Condvar,
}

// === impl Gate ===

impl Gate {
    pub(crate) fn set(&self, phase: Phase) {
        self.lock().0 = phase;
        self.changed.notify_all();
    }

    /// Waits for the next time of load; false at the end. Nothing may be held across this call.
    pub(crate) fn enter(&self) -> bool {
        let mut state = self.lock();
        state.1 += 1;
        self.changed.notify_all();
        while state.0 == Phase::Quiet {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 -= 1;
        state.0 == Phase::Load
    }

    /// Waits for a time; false once actors should stop.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        self.wait(time, |state| state.0 != Phase::Load).0 == Phase::Load
    }

    /// Waits until this many actors wait in [`Gate::enter`], or for a time; returns the number that do.
    pub(crate) fn wait_until_parked(&self, actors: usize, patience: Duration) -> usize {
        self.wait(patience, |state| state.1 >= actors).1
    }

    /// Waits until the state is as wanted, or for a time; the state then.
    fn wait(&self, time: Duration, is_wanted: impl Fn(&(Phase, usize)) -> bool) -> (Phase, usize) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if is_wanted(&state) || left.is_zero() {
                return *state;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Phase, usize)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
