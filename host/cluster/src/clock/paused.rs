//! A clock that stops while there is work, and jumps to the next timer when there is none.
//!
//! One process of the simulation is one runtime of one thread with one such clock. Whenever the runtime is
//! about to park, nothing more can happen at this time: the clock then advances, at most to the time up to
//! which the process may run. A process that does not run at all is like one that SIGSTOP has stopped.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Runtime};

thread_local! {
    /// The clock of the process that runs now.
    static CURRENT: RefCell<Option<Arc<PausedClock>>> = const { RefCell::new(None) };
}

pub(crate) struct PausedClock(Mutex<PausedState>);

struct PausedState {
    now: Instant,
    /// The process runs up to this moment.
    until: Instant,
    /// It has got there, or was stopped.
    is_over: bool,
    /// It stops as soon as nothing is left to do at this moment.
    stops: bool,
    driver: Option<Waker>,
    /// By moment, and by number in order of their making.
    timers: BTreeMap<(Instant, u64), Waker>,
    next: u64,
    random: u64,
}

/// One wait.
pub(crate) struct Sleep {
    clock: Arc<PausedClock>,
    at: Instant,
    number: Option<u64>,
}

/// While it is there, its clock is that of this thread.
pub(crate) struct Entered(Option<Arc<PausedClock>>);

pub(super) fn now() -> Option<Instant> {
    CURRENT.with_borrow(|clock| clock.as_ref().map(|clock| clock.state().now))
}

pub(super) fn random() -> Option<u64> {
    CURRENT.with_borrow(|clock| clock.as_ref().map(|clock| clock.state().random()))
}

pub(super) fn sleep_until(at: Instant) -> Option<Sleep> {
    let clock = CURRENT.with_borrow(Clone::clone)?;
    Some(Sleep { clock, at, number: None })
}

/// The process that runs now stops as soon as nothing is left to do at this moment.
pub(crate) fn stop() {
    CURRENT.with_borrow(|clock| {
        if let Some(clock) = clock {
            clock.state().stops = true;
        }
    });
}

// === impl PausedClock ===

impl PausedClock {
    /// The random numbers of its process follow from the seed.
    pub(crate) fn new(now: Instant, seed: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(PausedState {
            now,
            until: now,
            is_over: false,
            stops: false,
            driver: None,
            timers: BTreeMap::new(),
            next: 0,
            random: seed | 1,
        })))
    }

    /// The runtime of a process with this clock.
    pub(crate) fn runtime() -> Runtime {
        let advance = || {
            let clock = CURRENT.with_borrow(Clone::clone);
            if let Some(clock) = clock {
                clock.advance();
            }
        };
        Builder::new_current_thread().on_thread_park(advance).build().unwrap()
    }

    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        Entered(CURRENT.replace(Some(Arc::clone(self))))
    }

    pub(crate) fn now(&self) -> Instant {
        self.state().now
    }

    /// Time went on while the process was stopped.
    pub(crate) fn jump(&self, to: Instant) {
        let mut state = self.state();
        state.now = state.now.max(to);
    }

    /// Runs the process up to this moment, or until [`stop`]; when it stopped.
    pub(crate) fn run(self: &Arc<Self>, runtime: &Runtime, until: Instant) -> Instant {
        let _entered = self.enter();
        {
            let mut state = self.state();
            (state.until, state.is_over, state.stops) = (until.max(state.now), false, false);
        }
        let over = std::future::poll_fn(|context| {
            let mut state = self.state();
            if state.is_over {
                return Poll::Ready(());
            }
            state.driver = Some(context.waker().clone());
            Poll::Pending
        });
        runtime.block_on(over);
        self.now()
    }

    /// Nothing is left to do at this moment.
    fn advance(&self) {
        let mut woken = Vec::new();
        {
            let mut state = self.state();
            let next = state.timers.first_key_value().map(|((at, _), _)| *at).filter(|at| *at <= state.until);
            match next {
                Some(next) if !state.stops => {
                    state.now = state.now.max(next);
                    while let Some(timer) = state.timers.first_entry().filter(|timer| timer.key().0 <= next) {
                        woken.push(timer.remove());
                    }
                }
                _ => {
                    if !state.stops {
                        state.now = state.until;
                    }
                    state.is_over = true;
                    woken.extend(state.driver.take());
                }
            }
        }
        woken.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, PausedState> {
        self.0.lock()
    }
}

// === impl PausedState ===

impl PausedState {
    fn random(&mut self) -> u64 {
        // xorshift64: all that is needed is variety.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

// === impl Sleep ===

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = Arc::clone(&self.clock);
        let mut state = clock.state();
        if let Some(number) = self.number.take() {
            state.timers.remove(&(self.at, number));
        }
        if state.now >= self.at {
            return Poll::Ready(());
        }
        state.next += 1;
        let number = state.next;
        state.timers.insert((self.at, number), context.waker().clone());
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.clock.state().timers.remove(&(self.at, number));
        }
    }
}

// === impl Entered ===

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
