//! A stand-in for a policy without a loaded version: its rule must not be skipped silently.

use std::sync::Arc;

use plimsoll_core::{Fault, FaultKind, Member, Policy, PolicyConfig, Verb, Verbs};

use crate::scan::PolicyId;

/// Answers every verb with a fault; the policy's `onError` decides about its effect.
///
/// The module's verbs are unknown until it is compiled, so the stand-in has all verbs that a scheduler calls.
struct NotLoaded;

/// A member that stands in for a policy with this configuration.
pub(crate) fn stand_in(id: &PolicyId, config: PolicyConfig) -> Member {
    Member { version: 0, ..Member::new(Arc::clone(&id.group), Arc::clone(&id.name), config, Arc::new(NotLoaded)) }
}

// === impl NotLoaded ===

impl Policy for NotLoaded {
    fn verbs(&self) -> Verbs {
        Verb::ALL.into_iter().filter(|verb| *verb != Verb::Validate).collect()
    }

    fn lacks(&self, _: Verb) -> Fault {
        Fault::new(FaultKind::NotLoaded, "no version of it is in force; /api/policies says why")
    }
}
