//! A memory budget for request bodies, and for everything derived from them until the reply was sent.
//!
//! Memory is reserved before it is allocated: too many large requests are refused instead of exhausting the process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::error::WireError;

/// Bytes that all requests together may hold.
#[derive(Debug)]
pub(crate) struct WireMemory {
    held: AtomicUsize,
    limit: usize,
}

/// The memory that one request has reserved; released on drop.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    /// `None` if there is no limit.
    budget: Option<Arc<WireMemory>>,
    bytes: usize,
}

// === impl WireMemory ===

impl WireMemory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { held: AtomicUsize::new(0), limit })
    }
}

// === impl MemoryReservation ===

impl MemoryReservation {
    /// An empty reservation of this budget.
    pub(crate) fn of(budget: &Arc<WireMemory>) -> Self {
        Self { budget: Some(Arc::clone(budget)), bytes: 0 }
    }

    /// A reservation without a limit, for use without a server.
    pub(crate) const fn unlimited() -> Self {
        Self { budget: None, bytes: 0 }
    }

    /// Reserves more bytes.
    ///
    /// # Errors
    /// If all requests together would then hold too much; nothing is reserved in that case.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), WireError> {
        let Some(budget) = &self.budget else { return Ok(()) };
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= budget.limit);
        if budget.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            let own = self.bytes.saturating_add(bytes);
            return Err(if own > budget.limit {
                WireError::too_much(own, budget.limit)
            } else {
                WireError::overloaded()
            });
        }
        self.bytes += bytes;
        Ok(())
    }

    /// The number of bytes that are reserved.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let given = self.bytes.saturating_sub(bytes);
        if let Some(budget) = &self.budget {
            budget.held.fetch_sub(given, Ordering::Relaxed);
        }
        self.bytes -= given;
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved_stays_within_the_budget_and_comes_back() {
        let budget = WireMemory::new(100);
        let (mut one, mut other) = (MemoryReservation::of(&budget), MemoryReservation::of(&budget));
        one.grow(60).unwrap();
        assert!(other.grow(41).unwrap_err().to_string().contains("too many large requests"));
        other.grow(40).unwrap();
        one.shrink_to(10);
        other.grow(50).unwrap();
        drop(other);
        let error = one.grow(91).unwrap_err().to_string();
        assert!(error.contains("--wire-memory"), "{error}");
        one.grow(90).unwrap();
        drop(one);
        assert_eq!(budget.held.load(Ordering::Relaxed), 0);
    }
}
