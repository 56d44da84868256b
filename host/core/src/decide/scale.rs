//! The scale of the scores in a reply to prioritize, and the tie-break between nodes with equal scores.

use crate::model::{MAX_SCORE, Pod, node_order::NodeOrder};

/// The scale of the scores in a reply.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScoreScale {
    /// 0 to 10, rounded half up: the scale that kube-scheduler expects of an extender.
    #[default]
    Coarse,
    /// 0 to 10,000, rounded down: two means of policies' scores that differ by a hundredth of a point stay apart.
    Fine,
    /// 0 to 1,000,000,000, rounded down, plus a tie-break.
    FineWith(TieBreak),
}

/// The tie-break between nodes with equal scores; without it kube-scheduler takes one of them at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TieBreak {
    /// The node whose name is the smallest by its bytes: equal nodes are filled one after another.
    Name,
    /// A hash of the pod's UID and the node's name: pods are spread over equal nodes.
    Spread,
}

// === impl ScoreScale ===

impl ScoreScale {
    /// Every scale.
    pub const ALL: [Self; 4] =
        [Self::Coarse, Self::Fine, Self::FineWith(TieBreak::Name), Self::FineWith(TieBreak::Spread)];

    /// The largest weight of an extender whose tie-break never outweighs a point of the scheduler's own plugins: the
    /// tie-break stays below this part of the least difference that two means can have.
    pub const MAX_EXTENDER_WEIGHT: u32 = 16;

    /// The score of a node that has 100 of every policy, without a tie-break.
    pub const fn max(self) -> u32 {
        match self {
            Self::Coarse => 10,
            Self::Fine => 10_000,
            Self::FineWith(_) => 1_000_000_000,
        }
    }

    /// By how much the scores are higher than on the coarse scale. The factor of a scale divides that of a finer one.
    pub const fn factor(self) -> u32 {
        self.max() / Self::Coarse.max()
    }

    /// The steps of a tie-break below the least difference of two means, by the sum of the weights of policies. The same
    /// with the two exchanged: the largest sum that leaves this many steps.
    const fn tie_break_range(weights: u64) -> u64 {
        let steps = Self::FineWith(TieBreak::Name).max() as u64;
        steps / (weights * MAX_SCORE as u64 * Self::MAX_EXTENDER_WEIGHT as u64)
    }

    /// The mean of scores of 0 to 100, given by their weighted sum and the sum of the weights.
    #[inline]
    pub(super) fn mean(self, total: u64, weights: u64) -> u32 {
        if weights == 0 {
            return 0;
        }
        let mean = if self == Self::Coarse {
            (total + 5 * weights) / (10 * weights)
        } else {
            // 64 bits are too few: each weight has up to 32, and the scale has 30.
            let mean = u128::from(total) * u128::from(self.max()) / u128::from(weights * u64::from(MAX_SCORE));
            u64::try_from(mean).unwrap_or(u64::MAX)
        };
        mean.min(u64::from(self.max())) as u32
    }

    /// Adds the tie-break to the means of these slots.
    pub(super) fn break_ties(self, scores: &mut [u32], slots: &[u32], weights: u64, pod: &Pod, order: &NodeOrder) {
        let Self::FineWith(tie_break) = self else { return };
        // Where no policy has scored, the group has no say about the pod.
        if weights == 0 {
            return;
        }
        let range = Self::tie_break_range(weights);
        // A share has 32 bits and the range at most 30, so the product fits, and the result is below the range.
        let add = |(score, share): (&mut u32, u32)| *score += ((u64::from(share) * range) >> 32) as u32;
        match tie_break {
            TieBreak::Name => scores.iter_mut().zip(slots.iter().map(|slot| order.by_name(*slot))).for_each(add),
            TieBreak::Spread => {
                let pod = NodeOrder::hash_of_pod(pod);
                scores.iter_mut().zip(slots.iter().map(|slot| order.spread(*slot, pod))).for_each(add);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIES: ScoreScale = ScoreScale::FineWith(TieBreak::Name);

    #[test]
    fn a_coarse_mean_is_rounded_half_up_to_tenths() {
        let table = [(0, 1, 0), (4, 1, 0), (5, 1, 1), (14, 1, 1), (15, 1, 2), (94, 1, 9), (95, 1, 10), (100, 1, 10)];
        for (total, weights, expected) in table {
            assert_eq!(ScoreScale::Coarse.mean(total, weights), expected, "{total}/{weights}");
        }
        assert_eq!(ScoreScale::Coarse.mean(100 + 3 * 20, 4), 4);
        assert!(ScoreScale::ALL.iter().all(|scale| scale.mean(0, 0) == 0));
    }

    #[test]
    fn a_fine_mean_keeps_a_hundredth_of_a_point() {
        assert_eq!([0, 61, 64, 100].map(|total| ScoreScale::Fine.mean(total, 1)), [0, 6_100, 6_400, 10_000]);
        assert_eq!([61, 62].map(|total| ScoreScale::Fine.mean(total + 99 * 50, 100)), [5_011, 5_012]);
        assert_eq!([0, 61, 100].map(|total| TIES.mean(total, 1)), [0, 610_000_000, 1_000_000_000]);
        let most = 100 * u64::from(u32::MAX);
        assert_eq!(TIES.mean(4_000 * most, 4_000 * u64::from(u32::MAX)), 1_000_000_000);
    }

    #[test]
    fn up_to_the_largest_sum_of_weights_a_tie_break_has_two_steps() {
        let most = ScoreScale::tie_break_range(2);
        assert_eq!([1, most, most + 1].map(ScoreScale::tie_break_range), [625_000, 2, 1]);
    }

    #[test]
    fn the_factor_of_a_scale_divides_that_of_a_finer_one() {
        let factors = ScoreScale::ALL.map(ScoreScale::factor);
        assert!(factors.is_sorted() && factors.windows(2).all(|pair| pair[1] % pair[0] == 0), "{factors:?}");
        assert!(ScoreScale::ALL.iter().all(|scale| scale.max() % ScoreScale::Coarse.max() == 0));
    }

    proptest! {
        #[test]
        fn a_better_mean_is_never_a_worse_score(
            weights in prop_oneof![1..200u64, 1..4_000 * u64::from(u32::MAX)], one in any::<u64>(), other in any::<u64>(),
        ) {
            let (one, other) = (one % (100 * weights + 1), other % (100 * weights + 1));
            let (low, high) = (one.min(other), one.max(other));
            for scale in ScoreScale::ALL {
                prop_assert!(scale.mean(low, weights) <= scale.mean(high, weights), "{:?}", scale);
                prop_assert!(scale.mean(high, weights) <= scale.max(), "{:?}", scale);
                // Finer scales keep means apart while the weights are not too many.
                if scale.factor() > 1 && 100 * weights <= u64::from(scale.max()) && low < high {
                    prop_assert!(scale.mean(low, weights) < scale.mean(high, weights), "{:?}", scale);
                }
            }
        }
    }
}
