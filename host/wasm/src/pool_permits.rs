//! Bounds the warm instances of all modules together.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};

/// Counts the free permits for warm instances of all modules.
#[derive(Clone)]
pub(crate) struct PoolPermits(Arc<AtomicU32>);

/// The permit of one warm instance; released on drop.
pub(crate) struct PoolPermit(PoolPermits);

// === impl PoolPermits ===

impl PoolPermits {
    pub(crate) fn new(count: u32) -> Self {
        Self(Arc::new(AtomicU32::new(count)))
    }

    pub(crate) fn free(&self) -> u32 {
        self.0.load(SeqCst)
    }

    pub(crate) fn take(&self) -> Option<PoolPermit> {
        let taken = self.0.fetch_update(SeqCst, SeqCst, |free| free.checked_sub(1));
        taken.is_ok().then(|| PoolPermit(self.clone()))
    }
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}
