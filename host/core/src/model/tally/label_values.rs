//! The values of one label of nodes, each with how many nodes have it.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use plimsoll_decision_cache::Fingerprint;

use super::Changes;
use crate::model::Slots;

/// Maximum values of a label that a policy may read: a list of more is no list of pools or zones, and costs too much.
pub const MAX_LABEL_VALUES: usize = 1_000;

/// The values of a label, ascending, each with how many nodes have it.
#[derive(Debug, Clone, Default)]
pub struct LabelValues {
    counts: BTreeMap<Box<str>, u32>,
    fingerprint: OnceLock<Fingerprint>,
}

// === impl LabelValues ===

impl LabelValues {
    pub(super) fn of(slots: &Slots, key: &str) -> Self {
        let mut values = Self::default();
        slots.iter().filter_map(|slot| slot.node.labels().get(key)).for_each(|value| values.add(value, 1));
        values
    }

    /// All values with their counts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u32)> {
        self.counts.iter().map(|(value, count)| (value.as_ref(), *count))
    }

    /// The number of nodes with this value.
    pub(crate) fn count(&self, value: &str) -> u32 {
        self.counts.get(value).copied().unwrap_or(0)
    }

    /// Of all values and counts.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| Fingerprint::of(&self.counts))
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.counts.keys().map(|value| size_of::<(Box<str>, u32)>() + value.len()).sum()
    }

    /// Becomes the values after some nodes came and went.
    pub(super) fn follow(values: &mut Arc<Self>, key: &str, changes: &Changes<'_>) {
        for (node, sign) in &changes.nodes {
            if let Some(value) = node.labels().get(key) {
                Arc::make_mut(values).add(value, *sign as i32);
            }
        }
    }

    fn add(&mut self, value: &str, change: i32) {
        let count = self.counts.entry(value.into()).or_default();
        *count = count.wrapping_add_signed(change);
        if *count == 0 {
            self.counts.remove(value);
        }
        self.fingerprint.take();
    }
}

impl PartialEq for LabelValues {
    fn eq(&self, other: &Self) -> bool {
        self.counts == other.counts
    }
}

impl Eq for LabelValues {}
