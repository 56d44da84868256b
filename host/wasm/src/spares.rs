//! Spares: instances that were created, and have read the settings of one policy, before a call needs them.
//!
//! A spare has run its start, and was asked `validate` if the policy exports it; both may read the settings and nothing
//! else. A policy whose start or `validate` needs more is instantiated in its calls. One thread creates spares after
//! calls, and drops the instances that calls have used.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Weak,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;

use crate::{
    instance::{LinkedModule, SpentInstance, WarmInstance},
    shares::Pool,
    ticker::Ticker,
};

/// Maximum spares of one policy: filter and score of a pod follow each other closely.
const MAX_OF_POLICY: usize = 4;

/// Calls without an attempt after one that failed: an endless loop costs the thread at most a hundredth of
/// [`WARM_TIME`](crate::store::WARM_TIME) for each call.
const PAUSE_CALLS: u32 = 100;

/// Maximum used instances in the queue; beyond that the caller drops its instance itself.
pub(crate) const MAX_USED: usize = 15;

/// Delay before the thread starts to work, so that it does not compete with the calls that follow immediately.
const START_DELAY: Duration = Duration::from_micros(200);

/// Time between two looks for spares of policies that are gone, when there are no calls.
const TIDY_INTERVAL: Duration = Duration::from_secs(2);

/// The spares of all policies, and the queue of the thread that creates them, which ends with it.
pub(crate) struct Spares {
    pool: Arc<SparePool>,
    queue: SyncSender<Job>,
}

struct SparePool {
    max: usize,
    memory: Arc<Pool>,
    policies: Mutex<HashMap<PolicyKey, PolicySpares>>,
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
    pub(crate) fn start(max: u32, ticker: Arc<Ticker>, memory: Arc<Pool>) -> io::Result<Self> {
        let pool = Arc::new(SparePool { max: max as usize, memory, policies: Mutex::default() });
        let (queue, jobs) = sync_channel(MAX_USED);
        let theirs = Arc::clone(&pool);
        let run = move || run(&jobs, &theirs, &ticker);
        thread::Builder::new().name("plimsoll-spares".to_owned()).spawn(run)?;
        Ok(Self { pool, queue })
    }

    /// The number of spares.
    pub(crate) fn count(&self) -> usize {
        count(&self.pool.policies.lock())
    }

    /// Takes a spare of a policy whose start would have behaved the same within this memory limit.
    pub(crate) fn take(&self, module: &Arc<LinkedModule>, settings: &Arc<str>, memory: usize) -> Option<WarmInstance> {
        let mut policies = self.pool.policies.lock();
        let policy = policies.get_mut(&key(module, settings))?;
        if policy.instances.is_empty() {
            policy.wanted = MAX_OF_POLICY.min(policy.wanted + 1);
        }
        policy.instances.pop_if(|spare| spare.fits(memory))
    }

    /// A call of a policy has ended: drops its instance, and creates the spares that the policy lacks.
    pub(crate) fn used(&self, used: SpentInstance, module: &Arc<LinkedModule>, settings: &Arc<str>) {
        // A large instance is dropped at once: its memory must not wait in the queue.
        let used = Some(used).filter(|used| !used.is_large());
        let job = Job { used, module: Arc::downgrade(module), settings: Arc::downgrade(settings) };
        // If the queue is full, the instance is dropped here, and calls create theirs themselves.
        let _ = self.queue.try_send(job);
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

fn count(policies: &HashMap<PolicyKey, PolicySpares>) -> usize {
    policies.values().map(|policy| policy.instances.len()).sum()
}

// === impl SparePool ===

impl SparePool {
    /// Creates the spares that a policy lacks.
    fn refill(&self, module: &Arc<LinkedModule>, settings: &Arc<str>) {
        let key = key(module, settings);
        loop {
            {
                let mut policies = self.policies.lock();
                let is_full = count(&policies) >= self.max;
                let policy = policies.entry(key).or_insert_with(|| PolicySpares::new(module, settings));
                if policy.pause > 0 {
                    policy.pause -= 1;
                    return;
                }
                if is_full || policy.instances.len() >= policy.wanted {
                    return;
                }
            }
            let created = WarmInstance::start(module, settings, &self.memory);
            let mut policies = self.policies.lock();
            let Some(policy) = policies.get_mut(&key) else { return };
            match created {
                Some(instance) => policy.instances.push(instance),
                None => policy.pause = PAUSE_CALLS,
            }
        }
    }

    /// Drops the spares of policies that are gone: nobody tells the pool when they go.
    fn drop_abandoned(&self) {
        let is_abandoned =
            |policy: &PolicySpares| policy.module.strong_count() == 0 || policy.settings.strong_count() == 0;
        let mut policies = self.policies.lock();
        let abandoned: Vec<_> = policies.extract_if(|_, policy| is_abandoned(policy)).collect();
        // Instances are dropped without the lock.
        drop(policies);
        drop(abandoned);
    }
}

// === impl PolicySpares ===

impl PolicySpares {
    fn new(module: &Arc<LinkedModule>, settings: &Arc<str>) -> Self {
        let (module, settings) = (Arc::downgrade(module), Arc::downgrade(settings));
        Self { module, settings, instances: Vec::new(), wanted: 1, pause: 0 }
    }
}
