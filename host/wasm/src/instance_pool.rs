//! What the instances of one module are made from, and those that were made ahead of their calls.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{
        AtomicU32, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
};

use wasmtime::component::InstancePre;

use crate::{
    instance::{NotWarmed, StoreData, WarmInstance},
    shares::Shares,
};

/// The most spares of one module: so many members of a group may share it, and are asked one right after another.
const MAX_SPARES: usize = 4;

/// A linked module. All policies with the same bytes share one.
pub(crate) struct InstancePool {
    linked: InstancePre<StoreData>,
    state: Mutex<PoolState>,
    /// Bytes that its calls have taken of late.
    usual_memory: AtomicUsize,
}

struct PoolState {
    spares: Vec<PooledInstance>,
    /// How many there should be: one more each time that a call finds none. 0 where the start needs its call.
    wanted: usize,
}

struct PooledInstance {
    instance: WarmInstance,
    /// Given back as the spare is taken: the call that takes it has a room of its own.
    _room: PoolPermit,
}

/// Counts the rooms for spares, of all modules together.
#[derive(Clone)]
pub(crate) struct PoolPermits(Arc<AtomicU32>);

/// The room of one spare; given back when it is dropped.
struct PoolPermit(PoolPermits);

/// Every module that may have spares: they are given up where memory is short.
#[derive(Default)]
pub(crate) struct WarmPools(Mutex<Vec<Weak<InstancePool>>>);

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

    /// Bytes of memory that a call of it mostly needs.
    pub(crate) fn usual_memory(&self) -> usize {
        self.usual_memory.load(Relaxed)
    }

    /// A call took so much: the most of late counts, and is forgotten as calls take less.
    pub(crate) fn has_used(&self, bytes: usize) {
        let before = self.usual_memory();
        let now = bytes.max(before - before / 8);
        // Another call may have written meanwhile: it is an estimate. A line that does not change stays shared.
        if now != before {
            self.usual_memory.store(now, Relaxed);
        }
    }

    /// A spare that would have started just so within this much memory, if there is one.
    pub(crate) fn take(&self, memory: usize) -> Option<WarmInstance> {
        let mut state = self.state();
        if state.spares.is_empty() && state.wanted > 0 {
            state.wanted = MAX_SPARES.min(state.wanted + 1);
        }
        state.spares.pop_if(|spare| spare.instance.fits(memory)).map(|spare| spare.instance)
    }

    /// Makes the spares that are missing, as far as there is room.
    pub(crate) fn refill(&self, permits: &PoolPermits, shares: &Arc<Shares>) {
        while self.lacks() {
            let Some(permit) = permits.take() else { return };
            match WarmInstance::start(&self.linked, shares) {
                Ok(instance) => self.state().spares.push(PooledInstance { instance, _room: permit }),
                // There may be memory the next time.
                Err(NotWarmed::Full) => return,
                Err(NotWarmed::NeedsItsCall) => {
                    self.state().wanted = 0;
                    return;
                }
            }
        }
    }

    /// Gives up its spares; whether there were any.
    fn drop_spares(&self) -> bool {
        let spares = std::mem::take(&mut self.state().spares);
        !spares.is_empty()
    }

    fn lacks(&self) -> bool {
        let state = self.state();
        state.spares.len() < state.wanted
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl WarmPools ===

impl WarmPools {
    /// From now on this module's spares can be given up.
    pub(crate) fn add(&self, instance_pool: &Arc<InstancePool>) {
        let mut pools = self.pools();
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(Arc::downgrade(instance_pool));
    }

    /// Gives up all spares; whether there were any.
    pub(crate) fn drop_all(&self) -> bool {
        let pools: Vec<Arc<InstancePool>> = self.pools().iter().filter_map(Weak::upgrade).collect();
        // All of them are to give up theirs, not only the first that has any.
        pools.iter().filter(|pool| pool.drop_spares()).count() > 0
    }

    fn pools(&self) -> MutexGuard<'_, Vec<Weak<InstancePool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
