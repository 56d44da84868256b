//! A pool of warm instances of one module.
//!
//! A *spare* has run its start. A *primed* spare has also read the settings of one policy: it was asked `validate`, which
//! may read them and nothing else. A module whose start or `validate` needs more than that is instantiated in its calls.

mod spares;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::Mutex;
use plimsoll_core::Verb;
use wasmtime::component::InstancePre;

use self::spares::{PrimedByPolicy, Spares};
use crate::{
    abi::Exports,
    instance::{GuestCall, NotWarmed, WarmInstance},
    pool_permits::PoolPermits,
    shares::{Reclaim, Shares},
    store::StoreData,
};

/// A linked module and its warm instances, shared by all policies with the same bytes.
pub(crate) struct InstancePool {
    linked: InstancePre<StoreData>,
    exports: Exports,
    state: Mutex<PoolState>,
    /// Peak memory of recent calls, in bytes; decays slowly.
    usual_memory: AtomicUsize,
}

struct PoolState {
    plain: Spares,
    primed: PrimedByPolicy,
}

// === impl InstancePool ===

impl InstancePool {
    pub(crate) fn new(linked: InstancePre<StoreData>, exports: Exports) -> Self {
        Self {
            linked,
            exports,
            state: Mutex::new(PoolState { plain: Spares::new(), primed: PrimedByPolicy::default() }),
            usual_memory: AtomicUsize::new(0),
        }
    }

    pub(crate) fn linked(&self) -> &InstancePre<StoreData> {
        &self.linked
    }

    /// The functions that the module exports.
    pub(crate) const fn exports(&self) -> &Exports {
        &self.exports
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

    /// Takes a warm instance whose start would have behaved the same within this memory limit: a primed one if there is
    /// one for these settings.
    pub(crate) fn take(&self, settings: Option<&Arc<str>>, memory: usize) -> Option<WarmInstance> {
        let mut state = self.state.lock();
        let PoolState { plain, primed } = &mut *state;
        if !self.can_prime() {
            return plain.take(memory);
        }
        let Some(settings) = settings else { return plain.pop(memory) };
        match primed.of(settings).filter(|primed| !primed.is_given_up()) {
            Some(primed) => primed.take(memory).or_else(|| plain.pop(memory)),
            None => plain.take(memory),
        }
    }

    /// Creates the missing instances, as far as permits allow: those for the policy with these settings first.
    pub(crate) fn refill(&self, settings: Option<&Arc<str>>, permits: &PoolPermits, shares: &Arc<Shares>) {
        if let Some(settings) = settings.filter(|_| self.can_prime()) {
            let validate = |call: &mut GuestCall| self.exports.validate(call);
            let prime = || WarmInstance::start(&self.linked, shares)?.prime(settings, validate);
            self.fill(permits, |state| state.primed.of(settings), prime);
        }
        self.fill(permits, |state| Some(&mut state.plain), || WarmInstance::start(&self.linked, shares));
    }

    /// Creates the missing instances of one kind.
    fn fill(
        &self,
        permits: &PoolPermits,
        spares: impl Fn(&mut PoolState) -> Option<&mut Spares>,
        create: impl Fn() -> Result<WarmInstance, NotWarmed>,
    ) {
        if spares(&mut self.state.lock()).is_none_or(Spares::pauses) {
            return;
        }
        while spares(&mut self.state.lock()).is_some_and(|spares| spares.lacks()) {
            let Some(permit) = permits.take() else { return };
            let created = create();
            let added = spares(&mut self.state.lock()).map(|spares| spares.add(created, permit));
            if !matches!(added, Some(Ok(()))) {
                return;
            }
        }
    }

    fn can_prime(&self) -> bool {
        self.exports.has(Verb::Validate)
    }
}

impl Reclaim for InstancePool {
    /// Drops all warm instances.
    fn reclaim(&self) -> bool {
        let (plain, primed) = {
            let mut state = self.state.lock();
            (state.plain.take_all(), state.primed.take_all())
        };
        !plain.is_empty() || !primed.is_empty()
    }
}
