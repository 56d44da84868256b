//! The names of a cluster's nodes.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::model::Slots;

/// Slots by name.
#[derive(Debug, Default)]
pub struct Names(HashMap<Arc<str>, u32, foldhash::fast::RandomState>);

// === impl Names ===

impl Names {
    /// The names of these slots; of two with one name the later is found.
    pub(crate) fn new(slots: &Slots) -> Self {
        Self(slots.iter().enumerate().map(|(at, slot)| (Arc::clone(slot.node.name()), at as u32)).collect())
    }

    /// The slot of the node with this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.0.get(name).copied()
    }
}
