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
    instance::SpentInstance,
    instance_pool::{InstancePool, PoolPermits},
    shares::Shares,
    ticker::Ticker,
};

/// Used instances that may wait to be cleared away; the caller clears one more itself.
pub(crate) const MAX_USED: usize = 15;

/// What is left to the calls that come right after the first before the thread takes any time from them.
const PAUSE: Duration = Duration::from_micros(200);

/// Owns the thread; it ends when this is dropped.
pub(crate) struct PoolWorker {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    permits: PoolPermits,
    max_permits: u32,
    shares: Arc<Shares>,
}

struct Job {
    used: Option<SpentInstance>,
    instance_pool: Weak<InstancePool>,
}

// === impl PoolWorker ===

impl PoolWorker {
    /// Starts the thread, for at most so many spares.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub(crate) fn start(most_spares: u32, ticker: Arc<Ticker>, shares: Arc<Shares>) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(MAX_USED);
        let permits = PoolPermits::new(most_spares);
        let (own_permits, from) = (permits.clone(), Arc::clone(&shares));
        let run = move || run(&jobs, &own_permits, &from, &ticker);
        let thread = thread::Builder::new().name("plimsoll-keeper".to_owned()).spawn(run)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), permits, max_permits: most_spares, shares })
    }

    /// How many spares there are.
    pub(crate) fn spares(&self) -> u32 {
        self.max_permits - self.permits.free()
    }

    /// A module was loaded: calls of it will come.
    pub(crate) fn expect(&self, instance_pool: &Arc<InstancePool>) {
        self.shares.warm_pools.add(instance_pool);
        self.leave(Job { used: None, instance_pool: Arc::downgrade(instance_pool) });
    }

    /// A call is over: its instance is of no more use, and the next call will need one.
    pub(crate) fn used(&self, used: SpentInstance, instance_pool: &Arc<InstancePool>) {
        // What is large would be missed by others for as long as it waits.
        let used = Some(used).filter(|used| !used.is_large());
        self.leave(Job { used, instance_pool: Arc::downgrade(instance_pool) });
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

impl Drop for PoolWorker {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn run(jobs: &Receiver<Job>, permits: &PoolPermits, shares: &Arc<Shares>, ticker: &Ticker) {
    let mut wanting: Vec<Weak<InstancePool>> = Vec::new();
    while let Ok(first) = jobs.recv() {
        #[expect(clippy::disallowed_methods, reason = "instances are made beside a request, not during it")]
        thread::sleep(PAUSE);
        // What is cleared away first is what the new ones are made in.
        for Job { used, instance_pool } in std::iter::once(first).chain(jobs.try_iter().take(MAX_USED)) {
            drop(used);
            wanting.push(instance_pool);
        }
        let _running = ticker.running();
        for instance_pool in wanting.drain(..) {
            if let Some(instance_pool) = instance_pool.upgrade() {
                instance_pool.refill(permits, shares);
            }
        }
    }
}
