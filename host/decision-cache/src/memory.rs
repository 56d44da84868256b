//! Counts of bytes, and of uses.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// Counts uses, so that the least recently used entry is known.
pub(crate) fn tick() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// Bytes that are part of a total until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    bytes: AtomicUsize,
    total: Arc<AtomicUsize>,
}

impl Reservation {
    pub(crate) fn new(bytes: usize, total: &Arc<AtomicUsize>) -> Self {
        let reservation = Self { bytes: AtomicUsize::new(0), total: Arc::clone(total) };
        reservation.set(bytes);
        reservation
    }

    /// Another part of the same total.
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

impl Drop for Reservation {
    fn drop(&mut self) {
        self.set(0);
    }
}
