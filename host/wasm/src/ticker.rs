//! The epoch ticker: a thread that increments wasmtime's epoch while guests run, and sleeps otherwise.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, Thread},
    time::Duration,
};

use wasmtime::EngineWeak;

/// The tick: the resolution of a guest's deadline.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// Ticks without a call before the thread parks: waking it costs more than a few ticks.
const IDLE_TICKS: u32 = 5;

/// Owns the thread; dropping it stops the thread.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Thread,
}

/// Guards a running call; the ticker runs as long as there is one.
pub(crate) struct RunningGuard<'t>(&'t TickerState);

#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

// === impl Ticker ===

impl Ticker {
    pub(crate) fn start(engine: EngineWeak, tick: Duration) -> io::Result<Self> {
        let shared = Arc::<TickerState>::default();
        let theirs = Arc::clone(&shared);
        let run = move || run(&theirs, &engine, tick);
        let thread = thread::Builder::new().name("plimsoll-ticker".to_owned()).spawn(run)?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// Keeps the ticker running until the guard is dropped.
    pub(crate) fn running(&self) -> RunningGuard<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.thread.unpark();
        }
        RunningGuard(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.thread.unpark();
    }
}

// === impl RunningGuard ===

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

fn run(shared: &TickerState, engine: &EngineWeak, tick: Duration) {
    let mut idle = 0;
    while !shared.stop.load(SeqCst) {
        if idle < IDLE_TICKS {
            #[expect(clippy::disallowed_methods, reason = "it is the clock")]
            thread::sleep(tick);
        } else {
            shared.asleep.store(true, SeqCst);
            // A call that begins from here on sees `asleep`; its unpark token makes the next park return at once.
            if shared.running.load(SeqCst) == 0 && !shared.stop.load(SeqCst) {
                thread::park();
            }
            shared.asleep.store(false, SeqCst);
            idle = 0;
        }
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
        idle = if shared.running.load(SeqCst) == 0 { idle + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use wasmtime::Engine;

    use super::*;

    fn wait_until(condition: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !condition() {
            assert!(Instant::now() < deadline, "it never happened");
            thread::yield_now();
        }
    }

    #[test]
    fn it_sleeps_without_calls_and_wakes_for_the_next() {
        let engine = Engine::default();
        let ticker = Ticker::start(engine.weak(), Duration::from_micros(50)).unwrap();
        let asleep = || ticker.shared.asleep.load(SeqCst);
        for _ in 0..3 {
            wait_until(asleep);
            let call = ticker.running();
            wait_until(|| !asleep());
            drop(call);
        }
    }

    #[test]
    fn it_ends_when_it_is_dropped_asleep_or_awake() {
        let engine = Engine::default();
        let asleep = Ticker::start(engine.weak(), Duration::from_micros(50)).unwrap();
        wait_until(|| asleep.shared.asleep.load(SeqCst));
        drop(asleep);
        drop(Ticker::start(engine.weak(), TICK).unwrap());
    }
}
