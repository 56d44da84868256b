//! A logical clock.

use std::sync::atomic::{AtomicU64, Ordering};

/// The next time of a process-wide clock. It orders uses, and numbers nodes and versions.
pub(crate) fn tick() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    NOW.fetch_add(1, Ordering::Relaxed)
}
