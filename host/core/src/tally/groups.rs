//! Totals by group. A copy costs little, and so does a change of one group in the copy.

use std::sync::Arc;

use hashbrown::HashMap;
use plimsoll_decision_cache::Fingerprint;

/// Groups of one shard, on average: a change of a shared copy copies one shard and the list of all.
const SHARD_GROUPS: usize = 128;

/// Maximum shards. Beyond `MAX_SHARDS * SHARD_GROUPS` groups the shards grow.
const MAX_SHARDS: usize = 256;

/// The number of shards grows by this factor.
const GROWTH: usize = 4;

type Shard = HashMap<Fingerprint, i128, foldhash::fast::RandomState>;

/// A total for each group; 0 for all that are not in it.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    /// A power of two of them.
    shards: Vec<Arc<Shard>>,
    count: usize,
}

// === impl Groups ===

impl Groups {
    pub(super) fn get(&self, group: Fingerprint) -> i128 {
        self.shards[self.shard_of(group)].get(&group).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, group: Fingerprint, amount: i128) {
        let at = self.shard_of(group);
        let shard = Arc::make_mut(&mut self.shards[at]);
        let before = shard.len();
        // Totals of i64 that are less than 2^64 cannot leave the range of an i128.
        let total = shard.entry(group).or_default();
        *total += amount;
        if *total == 0 {
            shard.remove(&group);
        }
        self.count = self.count + shard.len() - before;
        if self.count > self.shards.len() * SHARD_GROUPS && self.shards.len() < MAX_SHARDS {
            self.grow();
        }
    }

    /// The number of groups.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[cold]
    fn grow(&mut self) {
        let shards = vec![Arc::default(); self.shards.len() * GROWTH];
        let smaller = std::mem::replace(self, Self { shards, count: self.count });
        for (group, total) in smaller.shards.iter().flat_map(|shard| shard.iter()) {
            let at = self.shard_of(*group);
            Arc::make_mut(&mut self.shards[at]).insert(*group, *total);
        }
    }

    fn shard_of(&self, group: Fingerprint) -> usize {
        let mixed = group.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS / 2)) as usize & (self.shards.len() - 1)
    }
}

impl Default for Groups {
    fn default() -> Self {
        Self { shards: vec![Arc::default()], count: 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn any_number_of_groups_keep_their_totals_and_a_copy_does_not_change(
            first in vec((0..60_000i64, -3..4i128), 0..60_000),
            then in vec((0..60_000i64, -3..4i128), 0..200),
        ) {
            let mut model: std::collections::HashMap<i64, i128> = std::collections::HashMap::new();
            let mut groups = Groups::default();
            for (group, amount) in first {
                *model.entry(group).or_default() += amount;
                groups.add(Fingerprint::of_number(group), amount);
            }
            let (copy, before) = (groups.clone(), model.clone());
            for (group, amount) in then {
                *model.entry(group).or_default() += amount;
                groups.add(Fingerprint::of_number(group), amount);
            }
            for (groups, model) in [(groups, model), (copy, before)] {
                prop_assert_eq!(groups.count(), model.values().filter(|total| **total != 0).count());
                for (group, total) in model {
                    prop_assert_eq!(groups.get(Fingerprint::of_number(group)), total);
                }
            }
        }
    }
}
