//! Whether every policy that was there at the start has been in force.

use std::sync::atomic::{AtomicBool, Ordering};

use plimsoll_core::{Failure, PolicyState, Roster};

/// Readiness: not ready until each policy that was present at the start has been loaded once.
///
/// From then on a bad file does not take the process down. That is seen when a roster comes into force, and not when
/// somebody asks: the first probe may come late.
#[derive(Debug)]
pub(crate) struct Readiness {
    /// Whether a policy that could not be loaded at the start keeps nobody waiting.
    allow_degraded: bool,
    was_complete: AtomicBool,
}

// === impl Readiness ===

impl Readiness {
    /// With `allow_degraded`, it is enough that every policy of directories that can be read was tried.
    pub(crate) const fn new(allow_degraded: bool) -> Self {
        Self { allow_degraded, was_complete: AtomicBool::new(false) }
    }

    /// A roster comes into force.
    pub(crate) fn observe(&self, roster: &Roster) {
        if self.missing(roster).is_empty() {
            self.was_complete.store(true, Ordering::Relaxed);
        }
    }

    /// Policies that are not loaded, as long as that keeps the gateway from being ready.
    pub(crate) fn missing(&self, roster: &Roster) -> Vec<String> {
        if self.was_complete.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let is_off = |failure: &Failure| roster.state(&failure.id()) == PolicyState::Off;
        // Without a directory nobody knows which policies are missing.
        let is_allowed = |failure: &Failure| self.allow_degraded && !failure.is_of_directory();
        let counts = |failure: &&Failure| !failure.kept && !is_allowed(failure) && !is_off(failure);
        let refused = roster.failures().iter().filter(counts);
        let refused = refused.map(ToString::to_string);
        let states = roster.states();
        let loading = states.iter().filter(|(_, state)| **state == PolicyState::Loading);
        refused.chain(loading.map(|(id, _)| format!("policy {id} is being loaded"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loading() -> Roster {
        Roster::default().with_states([("gpu/a".into(), PolicyState::Loading)].into())
    }

    fn refused() -> Roster {
        let failure = Failure { group: "gpu".into(), name: "a".into(), error: "no wasm".into(), kept: false };
        Roster::new([].into(), vec![failure])
    }

    #[test]
    fn a_bad_file_after_the_start_keeps_nobody_waiting_though_nobody_asked_before() {
        let readiness = Readiness::new(false);
        readiness.observe(&loading());
        assert_eq!(readiness.missing(&loading()), ["policy gpu/a is being loaded"]);
        readiness.observe(&Roster::default());
        readiness.observe(&refused());
        assert!(readiness.missing(&refused()).is_empty());
    }

    #[test]
    fn a_directory_that_is_empty_or_cannot_be_read_keeps_it_waiting_whatever_is_allowed_of_policies() {
        for group in ["", "gpu"] {
            let error = "holds no policies".into();
            let failure = Failure { group: group.into(), name: Failure::DIRECTORY.into(), error, kept: false };
            let roster = Roster::new([].into(), vec![failure]);
            let readiness = Readiness::new(true);
            readiness.observe(&roster);
            assert_eq!(readiness.missing(&roster).len(), 1, "{group:?}");
        }
    }

    #[test]
    fn a_policy_that_is_refused_at_the_start_keeps_it_waiting_unless_that_is_allowed() {
        let (strict, degraded) = (Readiness::new(false), Readiness::new(true));
        for readiness in [&strict, &degraded] {
            readiness.observe(&loading());
            readiness.observe(&refused());
        }
        assert_eq!(strict.missing(&refused()), ["policy gpu/a: no wasm"]);
        assert!(degraded.missing(&refused()).is_empty());
        strict.observe(&Roster::default());
        assert!(strict.missing(&refused()).is_empty());
    }
}
