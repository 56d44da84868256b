//! The last version of policies that are gone, so that a number never names two versions of one policy.

use std::collections::BTreeMap;

use crate::scan::PolicyId;

/// The most policies whose numbers are remembered one by one: twice as many as a directory has files.
const MAX_POLICIES: usize = 4_000;

/// The last version of each policy that is gone.
#[derive(Debug, Default)]
pub(crate) struct PastVersions {
    last: BTreeMap<PolicyId, u64>,
    /// At least the last version of every policy that is not remembered by itself.
    floor: u64,
}

// === impl PastVersions ===

impl PastVersions {
    /// A number that no version of this policy exceeded before it went.
    pub(crate) fn last_of(&self, id: &PolicyId) -> u64 {
        self.last.get(id).copied().unwrap_or(self.floor)
    }

    /// Notes the last version of a policy that is gone; 0: none was loaded.
    pub(crate) fn add(&mut self, id: PolicyId, last: u64) {
        if last == 0 {
            return;
        }
        if self.last.len() >= MAX_POLICIES {
            // Numbers may have gaps, but none comes twice.
            self.floor = std::mem::take(&mut self.last).into_values().fold(self.floor, u64::max);
        }
        self.last.insert(id, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_comes_twice_and_not_all_names_are_remembered() {
        let id = |number: usize| PolicyId { group: "".into(), name: format!("p{number}").into() };
        let mut past = PastVersions::default();
        for number in 0..3 * MAX_POLICIES {
            past.add(id(number), number as u64 % 100);
            assert!(past.last.len() <= MAX_POLICIES);
        }
        assert!((0..3 * MAX_POLICIES).all(|number| past.last_of(&id(number)) >= number as u64 % 100));
        assert_eq!(past.last_of(&id(3 * MAX_POLICIES)), 99);
        assert_eq!(PastVersions::default().last_of(&id(0)), 0);
    }
}
