//! A memory budget for request bodies, and for the data decoded from them, until their replies are sent.
//!
//! Memory is reserved before it is allocated: too many large requests are refused instead of exhausting the process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::error::WireError;

/// The memory that one request has reserved; released on drop.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    /// The bytes that all requests together may still reserve.
    free: Arc<AtomicUsize>,
    bytes: usize,
}

// === impl MemoryReservation ===

impl MemoryReservation {
    /// An empty reservation of a budget.
    pub(crate) fn of(free: &Arc<AtomicUsize>) -> Self {
        Self { free: Arc::clone(free), bytes: 0 }
    }

    /// Reserves more bytes.
    ///
    /// # Errors
    /// If all requests together would then hold too much; nothing is reserved in that case.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), WireError> {
        let take = |free: usize| free.checked_sub(bytes);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| WireError::overloaded())?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.free.fetch_add(self.bytes, Ordering::Relaxed);
    }
}
