//! Totals by group. A copy costs little, and so does a change of one group in the copy.
//!
//! They are a trie by the hash of the group. A change copies one leaf and the branches above it; the others are shared.

use std::sync::Arc;

use plimsoll_decision_cache::Fingerprint;

/// A branch has this many nodes, one for each value of the next bits of the hash.
const FANOUT: usize = 1 << FANOUT_BITS;
const FANOUT_BITS: u32 = 4;

/// Maximum groups of a leaf. One with more becomes a branch.
const MAX_LEAF: usize = 16;

/// A total for each group; 0 for all that are not in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    root: Node,
    count: usize,
}

#[derive(Debug, Clone)]
enum Node {
    /// In no order.
    Leaf(Arc<[(Fingerprint, i128)]>),
    Branch(Arc<[Node; FANOUT]>),
}

// === impl Groups ===

impl Groups {
    pub(super) fn get(&self, group: Fingerprint) -> i128 {
        let (mut node, mut depth) = (&self.root, 0);
        loop {
            match node {
                Node::Leaf(leaf) => return leaf.iter().find(|(own, _)| *own == group).map_or(0, |(_, total)| *total),
                Node::Branch(nodes) => (node, depth) = (&nodes[place(group, depth)], depth + 1),
            }
        }
    }

    pub(super) fn add(&mut self, group: Fingerprint, amount: i128) {
        if amount != 0 {
            self.count = self.count.wrapping_add_signed(self.root.add(group, amount, 0));
        }
    }

    /// The number of groups.
    pub(super) fn count(&self) -> usize {
        self.count
    }
}

// === impl Node ===

impl Node {
    /// By how many groups there are more now.
    fn add(&mut self, group: Fingerprint, amount: i128, depth: u32) -> isize {
        match self {
            Self::Branch(nodes) => {
                let change = Arc::make_mut(nodes)[place(group, depth)].add(group, amount, depth + 1);
                if change < 0 && nodes.iter().all(Self::is_empty) {
                    *self = Self::default();
                }
                change
            }
            Self::Leaf(leaf) => match leaf.iter().position(|(own, _)| *own == group) {
                // Totals of i64 that are less than 2^64 cannot leave the range of an i128.
                Some(at) if leaf[at].1 + amount != 0 => {
                    Arc::make_mut(leaf)[at].1 += amount;
                    0
                }
                Some(at) => {
                    *leaf = [&leaf[..at], &leaf[at + 1..]].concat().into();
                    -1
                }
                None if leaf.len() < MAX_LEAF => {
                    *leaf = leaf.iter().copied().chain([(group, amount)]).collect();
                    1
                }
                None => {
                    *self = Self::divided(leaf, depth);
                    self.add(group, amount, depth)
                }
            },
        }
    }

    /// A branch with the groups of a leaf. Two groups differ in some bits of their hash, so this ends.
    #[cold]
    fn divided(leaf: &[(Fingerprint, i128)], depth: u32) -> Self {
        let node =
            |at: usize| Self::Leaf(leaf.iter().copied().filter(|(group, _)| place(*group, depth) == at).collect());
        Self::Branch(Arc::new(std::array::from_fn(node)))
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Leaf(leaf) if leaf.is_empty())
    }
}

impl Default for Node {
    fn default() -> Self {
        Self::Leaf(Arc::default())
    }
}

/// The place of a group among the nodes of a branch: bits of its hash, of which no two groups have the same.
fn place(group: Fingerprint, depth: u32) -> usize {
    let mixed = group.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed.rotate_left((depth + 1) * FANOUT_BITS) as usize) & (FANOUT - 1)
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
