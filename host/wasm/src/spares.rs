//! Spares: instances that were created, and have read the settings of one policy, before a call needs them.
//!
//! A spare has run its start, and was asked `validate` if the policy exports it; both may read the settings and nothing
//! else. A policy whose start or `validate` needs more is instantiated in its calls. One thread creates spares after
//! calls, and drops the instances that calls have used.

use std::{
    collections::HashMap,
    io, mem,
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;

use crate::{
    instance::{LinkedModule, NotWarmed, SpentInstance, WarmInstance},
    shares::Shares,
    ticker::Ticker,
};

/// Maximum spares of one policy: filter and score of a pod follow each other closely.
const MAX_OF_POLICY: usize = 4;

/// Calls without an attempt after a start and a `validate` that took too long: an endless loop costs the thread at most
/// a hundredth of [`WARM_TIME`](crate::store::WARM_TIME) for each call.
const PAUSE_CALLS: u32 = 100;

/// The pause of a policy whose calls must create their instances.
const FOREVER: u32 = u32::MAX;

/// Maximum used instances in the queue; beyond that the caller drops its instance itself.
pub(crate) const MAX_USED: usize = 15;

/// Delay before the thread starts to work, so that it does not compete with the calls that follow immediately.
const START_DELAY: Duration = Duration::from_micros(200);

/// Time between two looks for spares of policies that are gone, when there are no calls.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// The spares of all policies, and the thread that creates them; dropping it stops and joins the thread.
pub(crate) struct Spares {
    pool: Arc<SparePool>,
    queue: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct SparePool {
    max: usize,
    shares: Arc<Shares>,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    policies: HashMap<PolicyKey, PolicySpares>,
    /// The spares of all policies, one that is being created among them.
    count: usize,
}

/// A policy, by the addresses of its module and of its settings, which it shares with nobody.
type PolicyKey = (usize, usize);

/// The spares of one policy.
struct PolicySpares {
    /// Dropped with the policy. The addresses are not used again as long as these exist.
    module: Weak<LinkedModule>,
    settings: Weak<str>,
    instances: Vec<WarmInstance>,
    /// One more whenever a call finds none.
    wanted: usize,
    /// Calls until the next attempt.
    pause: u32,
}

/// A call has ended: its instance is dropped, and the spares of its policy are filled up.
struct Job {
    used: Option<SpentInstance>,
    module: Weak<LinkedModule>,
    settings: Weak<str>,
}

// === impl Spares ===

impl Spares {
    /// Starts the thread; `max` bounds the spares of all policies.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(max: u32, ticker: Arc<Ticker>, shares: &Arc<Shares>) -> io::Result<Self> {
        let pool = Arc::new(SparePool { max: max as usize, shares: Arc::clone(shares), state: Mutex::default() });
        let reclaimed = Arc::downgrade(&pool);
        shares.drop_spares_with(move || reclaimed.upgrade().is_some_and(|pool| pool.drop_all()));
        let (queue, jobs) = sync_channel(MAX_USED);
        let theirs = Arc::clone(&pool);
        let run = move || run(&jobs, &theirs, &ticker);
        let thread = thread::Builder::new().name("plimsoll-spares".to_owned()).spawn(run)?;
        Ok(Self { pool, queue: Some(queue), thread: Some(thread) })
    }

    /// The number of spares.
    pub(crate) fn count(&self) -> usize {
        self.pool.state.lock().count
    }

    /// Takes a spare of a policy whose start would have behaved the same within this memory limit.
    pub(crate) fn take(&self, module: &Arc<LinkedModule>, settings: &Arc<str>, memory: usize) -> Option<WarmInstance> {
        let mut state = self.pool.state.lock();
        let policy = state.policies.get_mut(&key(module, settings))?;
        if policy.instances.is_empty() {
            policy.wanted = MAX_OF_POLICY.min(policy.wanted + 1);
        }
        let taken = policy.instances.pop_if(|spare| spare.fits(memory));
        state.count -= usize::from(taken.is_some());
        taken
    }

    /// A call of a policy has ended: drops its instance, and creates the spares that the policy lacks.
    pub(crate) fn used(&self, used: SpentInstance, module: &Arc<LinkedModule>, settings: &Arc<str>) {
        // A large instance is dropped at once: its memory must not wait in the queue.
        let used = Some(used).filter(|used| !used.is_large());
        let job = Job { used, module: Arc::downgrade(module), settings: Arc::downgrade(settings) };
        let Some(queue) = &self.queue else { return };
        match queue.try_send(job) {
            Ok(()) => {}
            // If the queue is full, or the thread has panicked, calls create their instances themselves.
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => drop(job),
        }
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic has ended the thread already.
            let _ = thread.join();
        }
    }
}

fn run(jobs: &Receiver<Job>, pool: &SparePool, ticker: &Ticker) {
    let mut policies = Vec::new();
    loop {
        match jobs.recv_timeout(TIDY_INTERVAL) {
            Ok(first) => {
                #[expect(clippy::disallowed_methods, reason = "instances are made beside a request, not during it")]
                thread::sleep(START_DELAY);
                // Used instances are dropped first, so that new ones find room in the pooling allocator.
                for Job { used, module, settings } in std::iter::once(first).chain(jobs.try_iter().take(MAX_USED)) {
                    drop(used);
                    policies.push((module, settings));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        pool.drop_abandoned();
        let _running = ticker.running();
        for (module, settings) in policies.drain(..) {
            if let (Some(module), Some(settings)) = (module.upgrade(), settings.upgrade()) {
                pool.refill(&module, &settings);
            }
        }
    }
}

fn key(module: &Arc<LinkedModule>, settings: &Arc<str>) -> PolicyKey {
    (Arc::as_ptr(module).addr(), Arc::as_ptr(settings).addr())
}

// === impl SparePool ===

impl SparePool {
    /// Creates the spares that a policy lacks.
    fn refill(&self, module: &Arc<LinkedModule>, settings: &Arc<str>) {
        let key = key(module, settings);
        {
            let mut state = self.state.lock();
            let policy = state.policies.entry(key).or_insert_with(|| PolicySpares::new(module, settings));
            if policy.pause > 0 {
                policy.pause -= u32::from(policy.pause != FOREVER);
                return;
            }
        }
        while self.begin(&key) {
            let created = WarmInstance::start(module, settings, &self.shares);
            let mut state = self.state.lock();
            let Some(policy) = state.policies.get_mut(&key) else { return };
            match created {
                Ok(instance) => {
                    policy.instances.push(instance);
                    continue;
                }
                // Memory may be free after the next call.
                Err(NotWarmed::Full) => {}
                Err(NotWarmed::Late) => policy.pause = PAUSE_CALLS,
                Err(NotWarmed::NeedsItsCall) => policy.pause = FOREVER,
            }
            state.count -= 1;
            return;
        }
    }

    /// Counts a spare that is about to be created; false if the policy needs none, or there are too many.
    fn begin(&self, key: &PolicyKey) -> bool {
        let mut state = self.state.lock();
        let lacks = state.policies.get(key).is_some_and(|policy| policy.instances.len() < policy.wanted);
        let may = lacks && state.count < self.max;
        state.count += usize::from(may);
        may
    }

    /// Drops all spares; returns whether there were any.
    fn drop_all(&self) -> bool {
        let dropped: Vec<WarmInstance> = {
            let mut state = self.state.lock();
            let dropped: Vec<_> =
                state.policies.values_mut().flat_map(|policy| mem::take(&mut policy.instances)).collect();
            state.count -= dropped.len();
            dropped
        };
        !dropped.is_empty()
    }

    /// Drops the spares of policies that are gone: nobody tells the pool when they go.
    fn drop_abandoned(&self) {
        let mut state = self.state.lock();
        let abandoned: Vec<_> = state.policies.extract_if(|_, policy| policy.is_abandoned()).collect();
        state.count -= abandoned.iter().map(|(_, policy)| policy.instances.len()).sum::<usize>();
        // Instances are dropped without the lock.
        drop(state);
        drop(abandoned);
    }
}

// === impl PolicySpares ===

impl PolicySpares {
    fn new(module: &Arc<LinkedModule>, settings: &Arc<str>) -> Self {
        let (module, settings) = (Arc::downgrade(module), Arc::downgrade(settings));
        Self { module, settings, instances: Vec::new(), wanted: 1, pause: 0 }
    }

    fn is_abandoned(&self) -> bool {
        self.module.strong_count() == 0 || self.settings.strong_count() == 0
    }
}
