//! A pool of warm instances of one module.
//!
//! A *spare* has run its start. A *primed* spare has also read the settings of one policy: it was asked `validate`, which
//! may read them and nothing else. A module whose start or `validate` needs more than that is instantiated in its calls.
//! Instances of a *pre-initialised* module begin with the memory that a primed one has.

mod preinitialized;
mod spares;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use parking_lot::Mutex;
use plimsoll_core::Verb;

pub(crate) use self::preinitialized::{Preinitialized, PreinitializedCount};
use self::spares::{PrimedByPolicy, Spares};
use crate::{
    abi::Exports,
    instance::{NotWarmed, WarmInstance},
    linked_module::LinkedModule,
    pool_permits::PoolPermits,
    shares::{Reclaim, Shares},
    store::PRIMING_TIME,
};

/// A linked module and its warm instances, shared by all policies with the same bytes.
pub(crate) struct InstancePool {
    module: Arc<LinkedModule>,
    /// Whether its spares give way to pre-initialised modules.
    gives_way: bool,
    state: Mutex<PoolState>,
    /// Peak memory of recent calls, in bytes; decays slowly.
    usual_memory: AtomicUsize,
}

struct PoolState {
    plain: Spares,
    primed: PrimedByPolicy,
}

/// The source of a call's instance.
pub(crate) enum InstanceSource {
    Spare(WarmInstance),
    /// There is no spare: the call instantiates this module.
    Module(Arc<LinkedModule>),
}

// === impl InstancePool ===

impl InstancePool {
    pub(crate) fn new(module: LinkedModule, gives_way: bool) -> Self {
        Self {
            module: Arc::new(module),
            gives_way,
            state: Mutex::new(PoolState { plain: Spares::new(), primed: PrimedByPolicy::default() }),
            usual_memory: AtomicUsize::new(0),
        }
    }

    /// The functions that the module exports.
    pub(crate) fn exports(&self) -> &Exports {
        &self.module.exports
    }

    /// Bytes of memory that its calls usually need.
    pub(crate) fn usual_memory(&self) -> usize {
        self.usual_memory.load(Relaxed)
    }

    /// Records the memory of a call: a maximum that decays by an eighth per call.
    pub(crate) fn record_usage(&self, bytes: usize) {
        let before = self.usual_memory();
        let now = bytes.max(before - before / 8);
        // A lost update is fine: it is an estimate. Not writing an unchanged value keeps the cache line shared.
        if now != before {
            self.usual_memory.store(now, Relaxed);
        }
    }

    /// Takes a warm instance whose start would have behaved the same within this memory limit: a primed one if there is
    /// one for these settings.
    pub(crate) fn take(&self, settings: Option<&Arc<str>>, memory: usize) -> InstanceSource {
        let mut state = self.state.lock();
        let PoolState { plain, primed } = &mut *state;
        let spare = if !self.can_prime() {
            plain.take(memory)
        } else if let Some(settings) = settings {
            match primed.entry(settings).filter(|primed| !primed.spares.is_given_up()) {
                Some(primed) => {
                    let spare = primed.spares.take(memory);
                    if let (None, Some(module)) = (&spare, primed.module_within(memory)) {
                        return InstanceSource::Module(module);
                    }
                    // The primed spares grow instead, so that a plain one is needed ever less.
                    spare.or_else(|| plain.take_without_growing(memory))
                }
                // This policy will have no primed ones.
                None => plain.take(memory),
            }
        } else {
            // Rare: a validation, an explanation, or a check that compares instances.
            plain.take_without_growing(memory)
        };
        spare.map_or_else(|| InstanceSource::Module(Arc::clone(&self.module)), InstanceSource::Spare)
    }

    /// Whether the policy with these settings may have a pre-initialised module; false if the module has too many
    /// policies. Those that are gone are dropped first.
    pub(crate) fn has_room_for(&self, settings: &Arc<str>) -> bool {
        self.drop_abandoned();
        self.state.lock().primed.has_room_for(settings)
    }

    /// Creates the instances of the policy with these settings from this module from now on; false if the module has too
    /// many policies.
    #[must_use]
    pub(crate) fn preinitialize(&self, settings: &Arc<str>, module: Preinitialized) -> bool {
        let mut state = self.state.lock();
        let Some(primed) = state.primed.entry(settings) else { return false };
        primed.preinitialized = Some(module);
        let old = primed.spares.take_all();
        drop(state);
        drop(old);
        true
    }

    /// Creates the missing instances, as far as permits allow: those for the policy with these settings first.
    pub(crate) fn refill(&self, settings: Option<&Arc<str>>, permits: &PoolPermits, shares: &Arc<Shares>) {
        if let Some(settings) = settings.filter(|_| self.can_prime()) {
            let preinitialized = self.state.lock().primed.entry(settings).and_then(|primed| primed.module());
            let create = || match &preinitialized {
                Some(module) => WarmInstance::start(module, shares),
                None => WarmInstance::start(&self.module, shares)?.prime(settings, PRIMING_TIME),
            };
            self.fill(permits, |state| state.primed.entry(settings).map(|primed| &mut primed.spares), create);
        }
        self.fill(permits, |state| Some(&mut state.plain), || WarmInstance::start(&self.module, shares));
    }

    /// Creates the missing instances of one kind.
    fn fill(
        &self,
        permits: &PoolPermits,
        spares: impl Fn(&mut PoolState) -> Option<&mut Spares>,
        create: impl Fn() -> Result<WarmInstance, NotWarmed>,
    ) {
        if spares(&mut self.state.lock()).is_none_or(Spares::count_down_pause) {
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

    /// Drops all spares; returns whether there were any.
    fn drop_spares(&self) -> bool {
        let (plain, primed) = {
            let mut state = self.state.lock();
            (state.plain.take_all(), state.primed.take_all())
        };
        !plain.is_empty() || !primed.is_empty()
    }

    /// Drops the spares and pre-initialised modules of policies that are gone.
    fn drop_abandoned(&self) {
        let abandoned = self.state.lock().primed.take_abandoned();
        drop(abandoned);
    }

    fn can_prime(&self) -> bool {
        self.exports().has(Verb::Validate)
    }
}

impl Reclaim for InstancePool {
    /// Drops all warm instances and pre-initialised modules.
    fn reclaim(&self) -> bool {
        let modules = self.state.lock().primed.take_modules();
        self.drop_spares() || !modules.is_empty()
    }

    fn make_way(&self) -> bool {
        self.gives_way && self.drop_spares()
    }

    fn tidy(&self) {
        self.drop_abandoned();
    }
}
