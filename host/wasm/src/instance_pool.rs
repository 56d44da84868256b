//! A pool of warm instances of one module.

use std::sync::{
    Arc,
    atomic::{
        AtomicU32, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use parking_lot::Mutex;
use wasmtime::component::InstancePre;

use crate::{
    instance::{NotWarmed, WarmInstance},
    shares::{Reclaim, Shares},
    store::StoreData,
};

/// Maximum warm instances of one module. Several policies of a group may share a module and are called in quick
/// succession.
const MAX_SPARES: usize = 4;

/// A linked module and its warm instances, shared by all policies with the same bytes.
pub(crate) struct InstancePool {
    linked: InstancePre<StoreData>,
    state: Mutex<PoolState>,
    /// Peak memory of recent calls, in bytes; decays slowly.
    usual_memory: AtomicUsize,
}

struct PoolState {
    spares: Vec<PooledInstance>,
    /// The target size: one more whenever a call finds the pool empty; 0 if the start needs a call.
    wanted: usize,
}

struct PooledInstance {
    instance: WarmInstance,
    /// Released when the instance is taken: the call has a pool slot of its own.
    _room: PoolPermit,
}

/// Counts the free permits for warm instances of all modules.
#[derive(Clone)]
pub(crate) struct PoolPermits(Arc<AtomicU32>);

/// The permit of one warm instance; released on drop.
struct PoolPermit(PoolPermits);

// === impl InstancePool ===

impl InstancePool {
    pub(crate) fn new(linked: InstancePre<StoreData>) -> Self {
        Self {
            linked,
            state: Mutex::new(PoolState { spares: Vec::new(), wanted: 1 }),
            usual_memory: AtomicUsize::new(0),
        }
    }

    pub(crate) fn linked(&self) -> &InstancePre<StoreData> {
        &self.linked
    }

    /// Bytes of memory that its calls usually need.
    pub(crate) fn usual_memory(&self) -> usize {
        self.usual_memory.load(Relaxed)
    }

    /// Records the memory of a call: a maximum that decays by an eighth per call.
    pub(crate) fn has_used(&self, bytes: usize) {
        let before = self.usual_memory();
        let now = bytes.max(before - before / 8);
        // A lost update is fine: it is an estimate. Not writing an unchanged value keeps the cache line shared.
        if now != before {
            self.usual_memory.store(now, Relaxed);
        }
    }

    /// Takes a warm instance whose start would have behaved the same within this memory limit.
    pub(crate) fn take(&self, memory: usize) -> Option<WarmInstance> {
        let mut state = self.state.lock();
        if state.spares.is_empty() && state.wanted > 0 {
            state.wanted = MAX_SPARES.min(state.wanted + 1);
        }
        state.spares.pop_if(|spare| spare.instance.fits(memory)).map(|spare| spare.instance)
    }

    /// Creates the missing instances, as far as permits allow.
    pub(crate) fn refill(&self, permits: &PoolPermits, shares: &Arc<Shares>) {
        while self.lacks() {
            let Some(permit) = permits.take() else { return };
            match WarmInstance::start(&self.linked, shares) {
                Ok(instance) => self.state.lock().spares.push(PooledInstance { instance, _room: permit }),
                // Memory may be free at the next attempt.
                Err(NotWarmed::Full) => return,
                Err(NotWarmed::NeedsItsCall) => {
                    self.state.lock().wanted = 0;
                    return;
                }
            }
        }
    }

    fn lacks(&self) -> bool {
        let state = self.state.lock();
        state.spares.len() < state.wanted
    }
}

impl Reclaim for InstancePool {
    /// Drops all warm instances.
    fn reclaim(&self) -> bool {
        let spares = std::mem::take(&mut self.state.lock().spares);
        !spares.is_empty()
    }
}

// === impl PoolPermits ===

impl PoolPermits {
    pub(crate) fn new(count: u32) -> Self {
        Self(Arc::new(AtomicU32::new(count)))
    }

    pub(crate) fn free(&self) -> u32 {
        self.0.load(SeqCst)
    }

    fn take(&self) -> Option<PoolPermit> {
        let taken = self.0.fetch_update(SeqCst, SeqCst, |free| free.checked_sub(1));
        taken.is_ok().then(|| PoolPermit(self.clone()))
    }
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}
