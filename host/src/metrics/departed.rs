//! The policies that have left the directory, and whose series are still there.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

/// The number of policies that keep their series after they have left. A scrape must still see their last counts, and
/// policies with ever new names must not fill the memory.
const MAX_DEPARTED: usize = 100;

/// Names of policies, with their groups.
#[derive(Debug, Default)]
pub(super) struct DepartedPolicies {
    present: BTreeSet<Arc<str>>,
    /// The one that left first comes first.
    departed: VecDeque<Arc<str>>,
}

// === impl DepartedPolicies ===

impl DepartedPolicies {
    /// Takes the policies that are present now and those that have just changed; returns those whose series are to be
    /// removed.
    pub(super) fn reloaded(
        &mut self,
        present: BTreeSet<Arc<str>>,
        changed: impl IntoIterator<Item = Arc<str>>,
    ) -> Vec<Arc<str>> {
        let before = std::mem::replace(&mut self.present, present);
        self.departed.retain(|policy| !self.present.contains(policy));
        for policy in before.into_iter().chain(changed) {
            if !self.present.contains(&policy) && !self.departed.contains(&policy) {
                self.departed.push_back(policy);
            }
        }
        let too_many = self.departed.len().saturating_sub(MAX_DEPARTED);
        self.departed.drain(..too_many).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policies_that_left_first_lose_their_series_and_a_policy_that_comes_back_keeps_them() {
        let name = |number: usize| Arc::<str>::from(format!("p{number}"));
        let mut departed = DepartedPolicies::default();
        for number in 0..=MAX_DEPARTED {
            assert!(departed.reloaded(BTreeSet::from([name(number)]), []).is_empty());
        }
        // The first one is back, and then leaves again as the last one.
        assert!(departed.reloaded(BTreeSet::from([name(0)]), []).is_empty());
        assert_eq!(departed.reloaded(BTreeSet::new(), []), [name(1)]);
        // One that was refused was never present.
        assert_eq!(departed.reloaded(BTreeSet::new(), [name(1000)]), [name(2)]);
    }
}
