//! Totals by group. A copy costs little, and so does a change of one group in the copy.

use std::sync::Arc;

use hashbrown::HashMap;
use plimsoll_decision_cache::Fingerprint;

/// Groups are in `FANOUT` branches of `FANOUT` shards: a change of a shared copy copies one branch and one shard.
const FANOUT: usize = 1 << FANOUT_BITS;
const FANOUT_BITS: u32 = 4;

type Shard = HashMap<Fingerprint, i128, foldhash::fast::RandomState>;

/// A total for each group; 0 for all that are not in it.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    branches: [Arc<[Arc<Shard>; FANOUT]>; FANOUT],
    count: usize,
}

// === impl Groups ===

impl Groups {
    pub(super) fn get(&self, group: Fingerprint) -> i128 {
        let (branch, shard) = shard_of(group);
        self.branches[branch][shard].get(&group).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, group: Fingerprint, amount: i128) {
        let (branch, shard) = shard_of(group);
        let shard = Arc::make_mut(&mut Arc::make_mut(&mut self.branches[branch])[shard]);
        let before = shard.len();
        // Totals of i64 that are less than 2^64 cannot leave the range of an i128.
        let total = shard.entry(group).or_default();
        *total += amount;
        if *total == 0 {
            shard.remove(&group);
        }
        self.count = self.count + shard.len() - before;
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

impl Default for Groups {
    fn default() -> Self {
        let shard = Arc::default();
        let branch = Arc::new(std::array::from_fn(|_| Arc::clone(&shard)));
        Self { branches: std::array::from_fn(|_| Arc::clone(&branch)), count: 0 }
    }
}

fn shard_of(group: Fingerprint) -> (usize, usize) {
    let mixed = group.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (mixed >> (u64::BITS - 2 * FANOUT_BITS)) as usize;
    (number / FANOUT, number % FANOUT)
}
