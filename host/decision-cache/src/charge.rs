//! Counts of bytes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Bytes that count towards a total until this is dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    bytes: AtomicUsize,
    total: Arc<AtomicUsize>,
}

impl CacheCharge {
    pub(crate) fn new(bytes: usize, total: &Arc<AtomicUsize>) -> Self {
        let charge = Self { bytes: AtomicUsize::new(0), total: Arc::clone(total) };
        charge.set(bytes);
        charge
    }

    /// Another charge to the same total.
    pub(crate) fn another(&self, bytes: usize) -> Self {
        Self::new(bytes, &self.total)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.total.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for CacheCharge {
    fn drop(&mut self) {
        self.set(0);
    }
}
