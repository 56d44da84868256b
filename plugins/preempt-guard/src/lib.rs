//! Guards preemption: it limits which pods may be evicted, how many at once, and at what cost.

use std::collections::BTreeMap;

use plimsoll_policy::prelude::*;

const PROTECTED: &str = "a victim is protected";
const YOUNG: &str = "a victim has only just started";
const MANY: &str = "too many pods would be evicted";
const BUDGETS: &str = "too many disruption budgets would be violated";
const FEWER: &str = "another node violates fewer disruption budgets";

/// Time is read in steps of this many seconds; a victim's age is right to within one.
const STEP: u32 = 10;

/// The limits of a preemption.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct PreemptGuard {
    /// A pod with one of these labels is never evicted.
    protect: BTreeMap<String, String>,
    /// A pod younger than this is not evicted; 0 takes the rule out.
    min_age_seconds: u64,
    /// At most this many pods are evicted for one; absent: any number.
    max_victims: Option<usize>,
    /// At most this many disruption budgets are violated; absent: any number.
    max_pdb_violations: Option<u32>,
    /// Only candidates that violate the fewest disruption budgets are kept.
    fewest_pdb_violations: bool,
}

impl PreemptGuard {
    /// Why the candidate by itself is not acceptable.
    fn objection(&self, candidate: &Candidate) -> Option<&'static str> {
        let victims = candidate.victims();
        if self.max_victims.is_some_and(|most| victims.len() > most) {
            return Some(MANY);
        }
        if self.max_pdb_violations.is_some_and(|most| candidate.pdb_violations() > most) {
            return Some(BUDGETS);
        }
        victims.iter().find_map(|victim| match victim {
            victim if self.is_protected(victim) => Some(PROTECTED),
            victim if self.is_young(victim) => Some(YOUNG),
            _ => None,
        })
    }

    fn is_protected(&self, pod: &Placed) -> bool {
        self.protect.iter().any(|(key, value)| pod.label(key) == Some(value))
    }

    /// A pod whose age is unknown is taken as old.
    fn is_young(&self, pod: &Placed) -> bool {
        self.min_age_seconds > 0
            && pod.created().is_some_and(|created| now(STEP) < created.saturating_add(self.min_age_seconds))
    }

    /// Whether another acceptable candidate violates fewer budgets; most violate none, and nothing beats that.
    fn is_beaten(&self, candidate: &Candidate) -> bool {
        let violations = candidate.pdb_violations();
        let beats = |other: &Candidate| other.pdb_violations() < violations && self.objection(other).is_none();
        self.fewest_pdb_violations && violations > 0 && candidate.all().iter().any(|other| beats(&other))
    }
}

impl Preempt for PreemptGuard {
    fn preempt(&self, _: &Pod, candidate: &Candidate) -> Preemption {
        match self.objection(candidate) {
            Some(reason) => Preemption::reject(reason),
            None if self.is_beaten(candidate) => Preemption::reject(FEWER),
            None => Preemption::Keep,
        }
    }
}

impl Validate for PreemptGuard {
    fn validate(&self) -> Result<(), String> {
        match self.max_victims {
            Some(0) => Err("maxVictims: expected at least 1; leave the key out for no limit".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Default for PreemptGuard {
    fn default() -> Self {
        Self {
            protect: BTreeMap::new(),
            min_age_seconds: 0,
            max_victims: None,
            max_pdb_violations: None,
            fewest_pdb_violations: true,
        }
    }
}

export!(PreemptGuard: preempt, validate);

#[cfg(test)]
mod tests;
