//! What one policy has answered about kinds of nodes.

use std::sync::Arc;

use super::{
    answers::Remember,
    class::{Class, MISS, Settled},
    kinds::{KindColumn, Kinds},
    remembered::Remembered,
};
use crate::View;

/// A policy's answers to pods such as a view's, by kind of node.
pub(crate) struct ByKind<A> {
    class: Arc<Class<A>>,
    settled: Arc<Settled>,
    column: Arc<KindColumn>,
}

// === impl ByKind ===

impl<A: Remember> ByKind<A> {
    /// None where answers are not found by kind, or none is known.
    pub(crate) fn of(remembered: &Remembered<A>, view: &View) -> Option<Self> {
        if remembered.off().is_some() {
            return None;
        }
        let class = remembered.class(view).filter(|class| !class.each_time)?;
        let (settled, column) = class.settle(&remembered.kinds, view)?;
        Some(Self { class, settled, column })
    }

    /// The number of the answer about a kind, if that is known.
    pub(crate) fn number(&self, kind: u32) -> Option<u32> {
        self.settled.answers.get(kind as usize).copied().filter(|number| *number != MISS)
    }

    /// What the numbers stand for.
    pub(crate) fn answers(&self) -> &[A] {
        self.class.answers()
    }

    pub(super) fn kinds(&self) -> &Arc<Kinds> {
        &self.settled.kinds
    }

    pub(super) fn column(&self) -> &Arc<KindColumn> {
        &self.column
    }
}
