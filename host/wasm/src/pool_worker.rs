//! The background thread of the instance pools: it creates warm instances, and drops used ones.

use std::{
    io,
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{
    instance::SpentInstance, instance_pool::InstancePool, pool_permits::PoolPermits, shares::Shares, ticker::Ticker,
};

/// Maximum used instances in the queue; beyond that the caller drops its instance itself.
pub(crate) const MAX_USED: usize = 15;

/// Delay before the thread starts to work, so that it does not compete with the calls that follow immediately.
const START_DELAY: Duration = Duration::from_micros(200);

/// Time between two looks for instances and modules of policies that are gone: the pools know a policy only by its
/// settings, and nobody tells them that these were dropped.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// Owns the thread; dropping it stops and joins the thread.
pub(crate) struct PoolWorker {
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
    permits: PoolPermits,
    max_permits: u32,
    shares: Arc<Shares>,
}

struct Job {
    used: Option<SpentInstance>,
    refill: RefillRequest,
}

/// A pool that lacks instances, and the settings of the policy that was called.
struct RefillRequest {
    instance_pool: Weak<InstancePool>,
    settings: Option<Weak<str>>,
}

// === impl PoolWorker ===

impl PoolWorker {
    /// Starts the thread; `most_spares` bounds the warm instances of all pools.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(most_spares: u32, ticker: Arc<Ticker>, shares: Arc<Shares>) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(MAX_USED);
        let permits = PoolPermits::new(most_spares);
        let (thread_permits, thread_shares) = (permits.clone(), Arc::clone(&shares));
        let run = move || run(&jobs, &thread_permits, &thread_shares, &ticker);
        let thread = thread::Builder::new().name("plimsoll-pool".to_owned()).spawn(run)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), permits, max_permits: most_spares, shares })
    }

    /// The number of warm instances.
    pub(crate) fn spares(&self) -> u32 {
        self.max_permits - self.permits.free()
    }

    /// Fills the pool of a module that was loaded.
    pub(crate) fn prefill(&self, instance_pool: &Arc<InstancePool>) {
        self.shares.reclaimers.add(instance_pool);
        self.enqueue(Job {
            used: None,
            refill: RefillRequest { instance_pool: Arc::downgrade(instance_pool), settings: None },
        });
    }

    /// A call of the policy with these settings has ended: drop its instance, and refill the pool.
    pub(crate) fn used(&self, used: SpentInstance, instance_pool: &Arc<InstancePool>, settings: &Arc<str>) {
        // A large instance is dropped at once: its memory must not wait in the queue.
        let used = Some(used).filter(|used| !used.is_large());
        let refill =
            RefillRequest { instance_pool: Arc::downgrade(instance_pool), settings: Some(Arc::downgrade(settings)) };
        self.enqueue(Job { used, refill });
    }

    fn enqueue(&self, job: Job) {
        let Some(queue) = &self.queue else { return };
        match queue.try_send(job) {
            Ok(()) => {}
            // If the queue is full, or the thread has panicked, calls create their instances themselves.
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => drop(job),
        }
    }
}

impl Drop for PoolWorker {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic has ended the thread already.
            let _ = thread.join();
        }
    }
}

fn run(jobs: &Receiver<Job>, permits: &PoolPermits, shares: &Arc<Shares>, ticker: &Ticker) {
    let mut all_wanting: Vec<RefillRequest> = Vec::new();
    let mut tidied = Instant::now();
    loop {
        if tidied.elapsed() >= TIDY_INTERVAL {
            shares.reclaimers.tidy();
            tidied = Instant::now();
        }
        let first = match jobs.recv_timeout(TIDY_INTERVAL.saturating_sub(tidied.elapsed())) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        #[expect(clippy::disallowed_methods, reason = "instances are made beside a request, not during it")]
        thread::sleep(START_DELAY);
        // Used instances are dropped first, so that new ones find room in the pooling allocator.
        for Job { used, refill } in std::iter::once(first).chain(jobs.try_iter().take(MAX_USED)) {
            drop(used);
            all_wanting.push(refill);
        }
        let _running = ticker.running();
        for RefillRequest { instance_pool, settings } in all_wanting.drain(..) {
            if let Some(instance_pool) = instance_pool.upgrade() {
                // The policy may be gone, and others may use its module still.
                let settings = settings.and_then(|settings| settings.upgrade());
                instance_pool.refill(settings.as_ref(), permits, shares);
            }
        }
    }
}
