//! A stand-in for a policy without a loaded version: its rule must not be skipped silently.

use std::{sync::Arc, time::Instant};

use plimsoll_core::{
    Annotation, Ask, Circuit, DecisionCache, Fault, FaultKind, Member, NodeSource, Policy, PolicyConfig, Preemption,
    Verb, Verbs, Verdict,
};

use crate::scan::PolicyId;

/// Answers every verb with a fault; the policy's `onError` decides what that means.
///
/// The module's verbs are unknown until it is compiled, so the stand-in has all verbs that a scheduler calls.
struct NotLoaded;

/// A member that stands in for a policy with this configuration.
pub(crate) fn stand_in(id: &PolicyId, config: PolicyConfig) -> Member {
    Member {
        id: Member::id_of(&id.group, &id.name),
        name: Arc::clone(&id.name),
        group: Arc::clone(&id.group),
        config,
        settings: Arc::from("null"),
        digest: Box::default(),
        size: 0,
        version: 0,
        policy: Arc::new(NotLoaded),
        circuit: Circuit::new(Instant::now()),
        cache: DecisionCache::default(),
    }
}

fn fault() -> Fault {
    Fault::new(FaultKind::NotLoaded, "no version of it is in force; /api/policies says why")
}

// === impl NotLoaded ===

impl Policy for NotLoaded {
    fn verbs(&self) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| *verb != Verb::Validate).collect()
    }

    fn validate(&self, _: &Ask) -> Result<Result<(), String>, Fault> {
        Err(fault())
    }

    fn filter_each(&self, _: &Ask, _: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        Err(fault())
    }

    fn score_each(&self, _: &Ask, _: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        Err(fault())
    }

    fn rank(&self, _: &Ask) -> Result<Vec<u32>, Fault> {
        Err(fault())
    }

    fn preempt(&self, _: &Ask, _: &[u32]) -> Result<Vec<Preemption>, Fault> {
        Err(fault())
    }

    fn bind(&self, _: &Ask, _: u32) -> Result<Result<Vec<Annotation>, String>, Fault> {
        Err(fault())
    }
}
