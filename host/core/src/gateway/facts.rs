//! Facts from outside: those that the host has fetched, and those that come with policies.

use std::sync::Arc;

use super::Gateway;
use crate::{Facts, Roster, facts::Moment};

// === impl Gateway ===

impl Gateway {
    /// The facts in force.
    pub fn facts(&self) -> Arc<Facts> {
        self.facts.current()
    }

    /// Replaces the facts of the operator's sources. Requests in flight finish with those that they started with.
    pub fn set_facts(&self, facts: &Facts) {
        // Locked first, so that facts come into force in the order in which they are set.
        let mut announced = self.announced.lock();
        if self.facts.set_shared(facts) {
            self.update(&mut announced);
        }
    }

    /// Puts the facts in force that come with the policies of a roster, before the roster is.
    pub(super) fn set_facts_of(&self, roster: &Roster) {
        let own = roster.members().flat_map(|member| member.own_facts.iter().cloned()).collect();
        let mut announced = self.announced.lock();
        if self.facts.set_own(own) {
            self.update(&mut announced);
        }
    }

    /// The time and the facts that a request sees to its end.
    pub(super) fn moment(&self) -> Moment {
        Moment { now: self.clock.unix_seconds(), facts: self.facts.current() }
    }
}
