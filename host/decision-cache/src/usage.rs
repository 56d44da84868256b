//! Bytes: several caches within one bound.

use std::{
    cmp::Reverse,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// A cache that can be emptied.
pub trait Evict {
    /// Bytes of everything.
    fn bytes(&self) -> usize;

    /// Drops everything but what requests that have not ended use.
    fn clear(&self);
}

/// Bytes that count towards a total until this is dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    bytes: AtomicUsize,
    total: Arc<AtomicUsize>,
}

/// Empties the largest caches as long as all of them together hold more than `max_bytes`.
pub fn evict_to(caches: &[&dyn Evict], max_bytes: usize) {
    let mut largest = caches.to_vec();
    largest.sort_by_cached_key(|cache| Reverse(cache.bytes()));
    for cache in largest {
        if caches.iter().map(|cache| cache.bytes()).sum::<usize>() <= max_bytes {
            break;
        }
        cache.clear();
    }
}

/// The next number of a counter of this process, for nodes of trees and versions of snapshots.
pub(crate) fn tick() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1, Ordering::Relaxed)
}

// === impl CacheCharge ===

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
