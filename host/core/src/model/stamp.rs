//! Stamps tell records apart without a look at their content.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no record had before: two records with one stamp are the same record.
pub(crate) fn stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
