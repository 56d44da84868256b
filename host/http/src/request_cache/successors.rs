//! Successor prediction: which slot followed which in the last request.

use std::sync::atomic::{AtomicU32, Ordering};

/// The order in which requests list the slots of a cluster.
///
/// A prediction that its user checks: writers need not agree, and no write waits for another.
#[derive(Debug, Default)]
pub(crate) struct SuccessorTable {
    /// The slot that comes first, then the successor of each slot.
    next: Box<[AtomicU32]>,
}

// === impl SuccessorTable ===

impl SuccessorTable {
    /// Slots in the order of their numbers.
    pub(super) fn new(slots: usize) -> Self {
        Self { next: (0..=slots as u32).map(AtomicU32::new).collect() }
    }

    /// The same of another number of slots.
    pub(super) fn successor(&self, slots: usize) -> Self {
        let next = |at: u32| self.next.get(at as usize).map_or(at, |next| next.load(Ordering::Relaxed));
        Self { next: (0..=slots as u32).map(|at| AtomicU32::new(next(at))).collect() }
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.next.len().saturating_sub(1)
    }

    /// The slot that came after this one, or first of all.
    #[inline]
    pub(crate) fn after(&self, slot: Option<u32>) -> Option<u32> {
        let next = self.next.get(index(slot))?.load(Ordering::Relaxed);
        ((next as usize) < self.len()).then_some(next)
    }

    /// Keeps the slot that comes after a slot, or first of all.
    pub(crate) fn learn(&self, before: Option<u32>, slot: u32) {
        if let Some(next) = self.next.get(index(before)) {
            next.store(slot, Ordering::Relaxed);
        }
    }
}

#[inline]
fn index(slot: Option<u32>) -> usize {
    slot.map_or(0, |slot| slot as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_in_their_own_order_until_another_is_learned() {
        let order = SuccessorTable::new(3);
        let after = |slot| order.after(slot);
        assert_eq!([None, Some(0), Some(1), Some(2), Some(3)].map(after), [Some(0), Some(1), Some(2), None, None]);
        order.learn(None, 2);
        order.learn(Some(2), 0);
        order.learn(Some(7), 0);
        assert_eq!([None, Some(0), Some(1), Some(2), Some(7)].map(after), [Some(2), Some(1), Some(2), Some(0), None]);
    }

    #[test]
    fn no_slot_is_named_that_does_not_exist() {
        assert_eq!(SuccessorTable::default().after(None), None);
        assert_eq!(SuccessorTable::new(0).after(None), None);
        let order = SuccessorTable::new(2);
        order.learn(None, 5);
        assert_eq!(order.after(None), None);
    }
}
