//! A module whose instances begin with the memory of one that has read its settings.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::{linked_module::LinkedModule, shares::MemoryCharge};

/// The pre-initialised module of one policy.
pub(crate) struct Preinitialized {
    module: Arc<LinkedModule>,
    /// Bytes of the memories that its instances begin with.
    memory: usize,
    /// Its code counts among the memory of all guests, as a warm instance does.
    _charge: MemoryCharge,
    _counted: CountGuard,
}

/// The number of pre-initialised modules of all policies.
#[derive(Clone, Default)]
pub(crate) struct PreinitializedCount(Arc<AtomicUsize>);

/// Counts one module as long as it exists.
pub(crate) struct CountGuard(PreinitializedCount);

// === impl Preinitialized ===

impl Preinitialized {
    pub(crate) fn new(module: Arc<LinkedModule>, memory: usize, charge: MemoryCharge, counted: CountGuard) -> Self {
        Self { module, memory, _charge: charge, _counted: counted }
    }

    /// The module, whatever the limit of a call.
    pub(super) fn module(&self) -> Arc<LinkedModule> {
        Arc::clone(&self.module)
    }

    /// The module, if its instances fit this memory limit.
    pub(super) fn within(&self, memory: usize) -> Option<Arc<LinkedModule>> {
        (self.memory <= memory).then(|| self.module())
    }
}

// === impl PreinitializedCount ===

impl PreinitializedCount {
    /// Counts one more.
    pub(crate) fn add(&self) -> CountGuard {
        self.0.fetch_add(1, Relaxed);
        CountGuard(self.clone())
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}
