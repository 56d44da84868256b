//! Bytes, and times of use: several caches within one bound.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// A cache whose least recently used entries can be dropped.
pub trait Evict {
    /// Bytes of everything.
    fn bytes(&self) -> usize;

    /// Drops the half of the entries that was not used for longest, and everything that only they needed. Returns
    /// whether there was anything to drop.
    fn evict_older_half(&self) -> bool;
}

/// Bytes that count towards a total until this is dropped.
#[derive(Debug)]
pub(crate) struct CacheCharge {
    bytes: AtomicUsize,
    total: Arc<AtomicUsize>,
}

/// Drops the older half of the largest cache as long as all of them hold more than `max_bytes`.
pub fn evict_to(caches: &[&dyn Evict], max_bytes: usize) {
    while caches.iter().map(|cache| cache.bytes()).sum::<usize>() > max_bytes {
        let largest = caches.iter().max_by_key(|cache| cache.bytes());
        // What is left then is in use by requests that have not ended.
        if !largest.is_some_and(|cache| cache.evict_older_half()) {
            break;
        }
    }
}

/// The next time of a process-wide logical clock. It orders uses, and numbers nodes and versions.
pub(crate) fn tick() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1, Ordering::Relaxed)
}

/// The time that half of these are no later than; `None` if there are none.
pub(crate) fn median(uses: impl Iterator<Item = u64>) -> Option<u64> {
    let mut uses: Vec<u64> = uses.collect();
    let middle = uses.len() / 2;
    (!uses.is_empty()).then(|| *uses.select_nth_unstable(middle).1)
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
