//! A module whose instances begin with the memory of one that has read its settings.

use std::sync::Arc;

use crate::{linked_module::LinkedModule, shares::MemoryCharge};

/// The pre-initialised module of one policy.
pub(crate) struct Preinitialized {
    module: Arc<LinkedModule>,
    /// Bytes of the memories that its instances begin with.
    memory: usize,
    /// Its code counts among the memory of all guests, as a warm instance does.
    _charge: MemoryCharge,
    /// Counts it as long as it exists.
    _counted: Arc<()>,
}

// === impl Preinitialized ===

impl Preinitialized {
    pub(crate) fn new(module: Arc<LinkedModule>, memory: usize, charge: MemoryCharge, counted: Arc<()>) -> Self {
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
