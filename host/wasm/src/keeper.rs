//! The thread that works ahead of calls and behind them: it makes spare instances, and clears used ones away.

use std::{
    io,
    sync::{
        Arc, Weak,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    instance::Used,
    shares::Shares,
    template::{Rooms, Template},
    ticker::Ticker,
};

/// Used instances that may wait to be cleared away; the caller clears one more itself.
pub(crate) const MAX_USED: usize = 15;

/// What is left to the calls that come right after the first before the thread takes any time from them.
const PAUSE: Duration = Duration::from_micros(200);

/// Owns the thread; it ends when this is dropped.
pub(crate) struct Keeper {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    rooms: Rooms,
    all_rooms: u32,
    shares: Arc<Shares>,
}

struct Job {
    used: Option<Used>,
    template: Weak<Template>,
}

// === impl Keeper ===

impl Keeper {
    /// Starts the thread, for at most so many spares.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start(most_spares: u32, ticker: Arc<Ticker>, shares: Arc<Shares>) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(MAX_USED);
        let rooms = Rooms::new(most_spares);
        let (theirs, from) = (rooms.clone(), Arc::clone(&shares));
        let run = move || run(&jobs, &theirs, &from, &ticker);
        let thread = thread::Builder::new().name("plimsoll-keeper".to_owned()).spawn(run)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), rooms, all_rooms: most_spares, shares })
    }

    /// How many spares there are.
    pub(crate) fn spares(&self) -> u32 {
        self.all_rooms - self.rooms.free()
    }

    /// A module was loaded: calls of it will come.
    pub(crate) fn expect(&self, template: &Arc<Template>) {
        self.shares.warm_pools.add(template);
        self.leave(Job { used: None, template: Arc::downgrade(template) });
    }

    /// A call is over: its instance is of no more use, and the next call will need one.
    pub(crate) fn used(&self, used: Used, template: &Arc<Template>) {
        // What is large would be missed by others for as long as it waits.
        let used = Some(used).filter(|used| !used.is_large());
        self.leave(Job { used, template: Arc::downgrade(template) });
    }

    fn leave(&self, job: Job) {
        let Some(queue) = &self.queue else { return };
        match queue.try_send(job) {
            Ok(()) => {}
            // Whoever calls so fast makes its instances itself, and a thread that died of a bug of ours is not missed.
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => drop(job),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn run(jobs: &Receiver<Job>, rooms: &Rooms, shares: &Arc<Shares>, ticker: &Ticker) {
    let mut wanting: Vec<Weak<Template>> = Vec::new();
    while let Ok(first) = jobs.recv() {
        #[expect(clippy::disallowed_methods, reason = "instances are made beside a request, not during it")]
        thread::sleep(PAUSE);
        // What is cleared away first is what the new ones are made in.
        for Job { used, template } in std::iter::once(first).chain(jobs.try_iter().take(MAX_USED)) {
            drop(used);
            wanting.push(template);
        }
        let _running = ticker.running();
        for template in wanting.drain(..) {
            if let Some(template) = template.upgrade() {
                template.refill(rooms, shares);
            }
        }
    }
}
