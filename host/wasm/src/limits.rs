//! Limits for the memories and tables of one instance.

use std::fmt;

use wasmtime::ResourceLimiter;

use crate::{
    shares::{Charge, Full},
    stop::Stop,
};

/// Maximum bytes that a guest may pass in one function call, in either direction.
pub(crate) const TRANSFER: usize = 1 << 20;

/// Maximum elements of one table; large runtimes have about 30,000.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;

/// Bytes of one element of a table.
const ELEMENT: usize = size_of::<usize>();

/// A `ResourceLimiter`: grants growth up to the policy's limit for all memories and tables together, and records the
/// first refusal.
///
/// A guest beyond its own limit gets an error from `memory.grow` and continues. If the memory of all guests is used up,
/// the call ends: its answer would depend on other guests.
pub(crate) struct MemoryLimiter {
    memory: usize,
    memory_left: usize,
    elements_left: usize,
    denied: Option<Denied>,
    charge: Charge,
}

/// The first growth that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    Memory { wanted: usize, limit: usize },
    Table { wanted: usize },
}

// === impl MemoryLimiter ===

impl MemoryLimiter {
    pub(crate) fn new(memory: usize, charge: Charge) -> Self {
        Self { memory, memory_left: memory, elements_left: TABLE_ELEMENTS, denied: None, charge }
    }

    /// Its charge against the memory of all guests.
    pub(crate) fn charge(&mut self) -> &mut Charge {
        &mut self.charge
    }

    /// Takes its charge; the instance cannot grow any more.
    pub(crate) fn take_charge(&mut self) -> Charge {
        self.memory_left = 0;
        self.elements_left = 0;
        self.charge.take_all()
    }

    /// Whether it holds a large part of the memory of all guests.
    pub(crate) fn is_large(&self) -> bool {
        self.charge.is_large()
    }

    fn charge_more(&mut self, more: usize) -> wasmtime::Result<()> {
        let is_much = 2 * (self.taken() + more) > self.memory;
        self.charge.grow(more).map_err(|full: Full| wasmtime::Error::new(Stop::Full { full, is_much }))
    }

    /// Charges memory that the host keeps for the guest, as if the guest had it.
    pub(crate) fn keep(&mut self, more: usize) -> wasmtime::Result<()> {
        let Some(left) = self.memory_left.checked_sub(more) else {
            let limit = size(self.memory);
            let detail = format!(
                "its standard input and output and its own memory together are more than the {limit} that it may have"
            );
            return Err(wasmtime::Error::new(Stop::Output(detail)));
        };
        self.charge_more(more)?;
        self.memory_left = left;
        Ok(())
    }

    /// Bytes of all memories so far.
    pub(crate) fn taken(&self) -> usize {
        self.memory - self.memory_left
    }

    /// Replaces the limit; the current size must be within it.
    pub(crate) fn set_memory(&mut self, memory: usize) {
        (self.memory, self.memory_left) = (memory, memory.saturating_sub(self.taken()));
    }

    pub(crate) fn denied(&self) -> Option<Denied> {
        self.denied
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Memory { wanted, limit } => {
                write!(
                    f,
                    "a memory of {} was refused: its limit is {} (`memory` in its sidecar)",
                    size(wanted),
                    size(limit)
                )
            }
            Self::Table { wanted } => {
                write!(f, "a table of {wanted} elements was refused: its limit is {TABLE_ELEMENTS}")
            }
        }
    }
}

/// Whole MiB, or else KiB.
fn size(bytes: usize) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Beyond the maximum that the guest itself declared: wasmtime refuses it, so nothing is charged.
        if maximum.is_some_and(|maximum| desired > maximum) && desired <= self.memory {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        let granted = more <= self.memory_left;
        if granted {
            self.charge_more(more)?;
            self.memory_left -= more;
        } else {
            self.denied.get_or_insert(Denied::Memory { wanted: desired, limit: self.memory });
        }
        Ok(granted)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) && desired <= TABLE_ELEMENTS {
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        let granted = more <= self.elements_left;
        if granted {
            self.charge_more(more * ELEMENT)?;
            self.elements_left -= more;
        } else {
            self.denied.get_or_insert(Denied::Table { wanted: desired });
        }
        Ok(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::Pool;

    /// A limiter without other guests.
    fn limiter(memory: usize) -> MemoryLimiter {
        MemoryLimiter::new(memory, Charge::new(&Pool::new(1 << 42), None))
    }

    #[test]
    fn all_memories_count_together() {
        let mut limiter = limiter(3 << 16);
        assert!(limiter.memory_growing(0, 1 << 16, None).unwrap());
        assert!(limiter.memory_growing(0, 2 << 16, None).unwrap());
        assert!(limiter.denied().is_none());
        assert!(!limiter.memory_growing(1 << 16, 2 << 16, None).unwrap());
        assert!(matches!(limiter.denied(), Some(Denied::Memory { wanted: 0x2_0000, limit: 0x3_0000 })));
    }

    #[test]
    fn another_limit_counts_what_is_there_already() {
        let mut limiter = limiter(8 << 16);
        assert!(limiter.memory_growing(0, 2 << 16, None).unwrap());
        limiter.set_memory(3 << 16);
        assert_eq!(limiter.taken(), 2 << 16);
        assert!(limiter.memory_growing(2 << 16, 3 << 16, None).unwrap());
        assert!(!limiter.memory_growing(3 << 16, 4 << 16, None).unwrap());
        assert!(matches!(limiter.denied(), Some(Denied::Memory { limit: 0x3_0000, .. })));
    }

    #[test]
    fn the_first_refusal_is_kept() {
        let mut limiter = limiter(0);
        assert!(!limiter.table_growing(0, TABLE_ELEMENTS + 1, None).unwrap());
        assert!(!limiter.memory_growing(0, 1 << 16, None).unwrap());
        assert_eq!(limiter.denied(), Some(Denied::Table { wanted: TABLE_ELEMENTS + 1 }));
    }
}
