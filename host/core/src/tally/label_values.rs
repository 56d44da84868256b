//! The values of one label of nodes, each with how many nodes have it.

use std::collections::BTreeMap;

use plimsoll_decision_cache::Fingerprint;

use super::changes::Changes;
use crate::Slots;

/// Maximum values of a label that are listed: a list of more is no list of pools or zones, and costs too much to read.
pub const MAX_LABEL_VALUES: usize = 1_000;

/// The values of a label, ascending, each with how many nodes have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelValues {
    counts: Vec<(Box<str>, u32)>,
    fingerprint: Fingerprint,
}

/// A label has more values than are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyValues;

// === impl LabelValues ===

impl LabelValues {
    pub(super) fn of(slots: &Slots, key: &str) -> Result<Self, TooManyValues> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for value in slots.iter().filter_map(|slot| slot.node.labels().get(key)) {
            *counts.entry(value).or_default() += 1;
            if counts.len() > MAX_LABEL_VALUES {
                return Err(TooManyValues);
            }
        }
        Ok(Self::new(counts.into_iter().map(|(value, count)| (value.into(), count)).collect()))
    }

    /// All values with their counts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u32)> {
        self.counts.iter().map(|(value, count)| (value.as_ref(), *count))
    }

    /// Of all values and counts.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.counts.iter().map(|(value, _)| size_of::<(Box<str>, u32)>() + value.len()).sum()
    }

    /// The values after some nodes came and went; none where nothing changes.
    pub(super) fn after(&self, key: &str, changes: &Changes<'_>) -> Option<Result<Self, TooManyValues>> {
        let mut deltas: BTreeMap<&str, i128> = BTreeMap::new();
        for (node, sign) in &changes.nodes {
            if let Some(value) = node.labels().get(key) {
                *deltas.entry(value).or_default() += sign;
            }
        }
        deltas.retain(|_, delta| *delta != 0);
        if deltas.is_empty() {
            return None;
        }
        let mut counts = self.counts.clone();
        for (value, delta) in deltas {
            match counts.binary_search_by(|(own, _)| own.as_ref().cmp(value)) {
                Ok(at) => {
                    counts[at].1 = (i128::from(counts[at].1) + delta) as u32;
                    if counts[at].1 == 0 {
                        counts.remove(at);
                    }
                }
                Err(at) => counts.insert(at, (value.into(), delta as u32)),
            }
        }
        Some(if counts.len() > MAX_LABEL_VALUES { Err(TooManyValues) } else { Ok(Self::new(counts)) })
    }

    fn new(counts: Vec<(Box<str>, u32)>) -> Self {
        let fingerprint = Fingerprint::of(&counts);
        Self { counts, fingerprint }
    }
}
