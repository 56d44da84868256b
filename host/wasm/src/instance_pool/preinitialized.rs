//! A module whose instances begin with the memory of one that has read its settings.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::linked_module::LinkedModule;

/// The pre-initialised module of one policy.
pub(crate) struct Preinitialized {
    pub(crate) module: Arc<LinkedModule>,
    /// Bytes of the memories that its instances begin with.
    pub(crate) memory: usize,
    /// Dropped with the module.
    pub(crate) _charge: CodeCharge,
}

/// Bytes of code, counted until this value is dropped.
pub(crate) struct CodeCharge {
    all: Arc<AtomicUsize>,
    bytes: usize,
}

// === impl Preinitialized ===

impl Preinitialized {
    /// The module, if its instances fit this memory limit.
    pub(super) fn within(&self, memory: usize) -> Option<Arc<LinkedModule>> {
        (self.memory <= memory).then(|| Arc::clone(&self.module))
    }
}

// === impl CodeCharge ===

impl CodeCharge {
    /// Counts bytes; `None` if there would be more than `max` together.
    pub(crate) fn take(all: &Arc<AtomicUsize>, bytes: usize, max: usize) -> Option<Self> {
        let add = |sum: usize| Some(sum + bytes).filter(|sum| *sum <= max);
        all.fetch_update(Relaxed, Relaxed, add).ok()?;
        Some(Self { all: Arc::clone(all), bytes })
    }
}

impl Drop for CodeCharge {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_while_it_is_there_and_up_to_the_bound() {
        let all = Arc::default();
        let first = CodeCharge::take(&all, 60, 100).unwrap();
        assert!(CodeCharge::take(&all, 41, 100).is_none());
        drop(first);
        let _second = CodeCharge::take(&all, 41, 100).unwrap();
        assert_eq!(all.load(Relaxed), 41);
    }
}
