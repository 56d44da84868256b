//! Pictures of a cluster that follow one another, and since when each slot has the records that it has.

use super::tick;
use crate::Slot;

/// One picture among those that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// The first of them.
    lineage: u64,
    /// It grows from each to the next.
    number: u64,
}

/// Which records of a slot a value depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) node: bool,
    pub(super) pods: bool,
}

/// By slot the picture that brought the record of the node, and that of its pods.
#[derive(Debug)]
pub(super) struct Since {
    epoch: Epoch,
    /// Empty in the first picture: all came with it.
    node: Box<[u64]>,
    pods: Box<[u64]>,
}

// === impl Basis ===

impl Basis {
    pub(super) const NOTHING: Self = Self { node: false, pods: false };

    /// What depends on either.
    pub(super) const fn and(self, other: Self) -> Self {
        Self { node: self.node || other.node, pods: self.pods || other.pods }
    }
}

// === impl Since ===

impl Since {
    /// A picture that follows no other.
    pub(super) fn first() -> Self {
        let number = tick();
        Self { epoch: Epoch { lineage: number, number }, node: Box::default(), pods: Box::default() }
    }

    /// The picture after this one, whose slots were those before.
    pub(super) fn next(&self, before: &[Slot], after: &[Slot]) -> Self {
        let number = tick();
        let since = |pods: bool, is_same: fn(&Slot, &Slot) -> bool| {
            let slot = |(at, slot): (usize, &Slot)| match before.get(at) {
                Some(earlier) if is_same(earlier, slot) => self.since(pods, at),
                _ => number,
            };
            after.iter().enumerate().map(slot).collect()
        };
        Self { epoch: Epoch { number, ..self.epoch }, node: since(false, same_node), pods: since(true, same_pods) }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether what was worked out in an earlier picture, or in this one, holds for a slot.
    #[inline]
    pub(super) fn holds(&self, made: Epoch, basis: Basis, slot: usize) -> bool {
        let older = |pods| self.since(pods, slot) <= made.number;
        made.lineage == self.epoch.lineage && (!basis.node || older(false)) && (!basis.pods || older(true))
    }

    fn since(&self, pods: bool, slot: usize) -> u64 {
        let slots = if pods { &self.pods } else { &self.node };
        slots.get(slot).copied().unwrap_or(self.epoch.number)
    }
}

fn same_node(one: &Slot, other: &Slot) -> bool {
    std::sync::Arc::ptr_eq(&one.node, &other.node) || one.node.stamp() == other.node.stamp()
}

fn same_pods(one: &Slot, other: &Slot) -> bool {
    match (&one.placed, &other.placed) {
        (Some(one), Some(other)) => std::sync::Arc::ptr_eq(one, other) || one.stamp() == other.stamp(),
        (one, other) => one.is_none() && other.is_none(),
    }
}
