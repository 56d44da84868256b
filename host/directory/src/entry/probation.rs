//! Probation: after its first calls a new version is confirmed or rolled back.

use std::sync::Arc;

use plimsoll_core::{Member, Verb};

use super::PolicyEntry;
use crate::{
    PolicyChange, refusal::FileRefusal, rollback_check::RollbackCheck, scan::PolicyId, source::ContentDigests,
};

/// A version that was rolled back.
pub(crate) struct Rollback {
    /// The digests of its files.
    pub(crate) digests: ContentDigests,
    /// The problem that is reported for its files from now on.
    pub(crate) why: String,
    pub(crate) change: PolicyChange,
}

impl PolicyEntry {
    /// Whether there is a version to go back to, and the one in force is asked.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.last_good.is_some() && !self.sidecar_mode.is_off()
    }

    /// Ends the probation if the version in force has proved itself; returns the digests of its files.
    pub(crate) fn confirm(&mut self) -> Option<ContentDigests> {
        let (version, last_good) = (self.version.as_ref()?, self.last_good.as_ref()?);
        if !has_proved_itself(&version.member, &last_good.member) {
            return None;
        }
        self.last_good.take()?;
        version.member.circuit.end_probation();
        Some(version.digests.clone())
    }

    /// The check to run if the version in force fails from its first calls on; one at a time.
    pub(crate) fn rollback_check(&mut self, id: &PolicyId) -> Option<RollbackCheck> {
        let (version, last_good) = (self.version.as_ref()?, self.last_good.as_ref()?);
        let (failing, last_good) = (Arc::clone(&version.member), Arc::clone(&last_good.member));
        if self.in_check.as_ref().is_some_and(|checked| Arc::ptr_eq(checked, &failing)) {
            return None;
        }
        let call = failing.circuit.take_failed()?;
        self.in_check = Some(Arc::clone(&failing));
        Some(RollbackCheck { id: id.clone(), failing, last_good, call })
    }

    /// Rolls back if the last good version answers the call that the one in force fails. An outcome is
    /// obsolete once either version has been replaced.
    pub(crate) fn apply_check(&mut self, check: &RollbackCheck, error: Option<String>) -> Option<Rollback> {
        let RollbackCheck { id, failing, last_good, call } = check;
        self.in_check.take_if(|checked| Arc::ptr_eq(checked, failing));
        let version = self.version.as_ref().filter(|version| Arc::ptr_eq(&version.member, failing))?;
        let good = self.last_good.as_ref().filter(|good| Arc::ptr_eq(&good.member, last_good))?;
        // During the check it may have answered, or have been switched off.
        let error = error.filter(|_| !failing.circuit.has_answered(call.verb()) && !self.sidecar_mode.is_off())?;
        let (number, digests) = (version.member.version, version.digests.clone());
        let (back, digest) = (good.member.version, good.digests.module.clone());
        let refusal = FileRefusal::rolled_back(format!("{error}; the last good version answers the same call"));
        failing.circuit.end_probation();
        self.version = self.last_good.take();
        self.refused = Some((digests.clone(), refusal.clone()));
        self.pending_refusal = None;
        // A load in progress compares its files with the failing version, which is no longer in force.
        (self.job, self.stale) = (None, true);
        let why = refusal.text.clone();
        self.reported = Some(refusal);
        let change = PolicyChange::RolledBack { id: id.to_string(), version: number, back, digest, error };
        Some(Rollback { digests, why, change })
    }
}

/// Whether a version has answered each verb that it has failed so far, and each that the last good one has answered. A
/// score that works says nothing about the filter, and may be asked before it. Preemptions are the exception: there may be
/// none for weeks.
fn has_proved_itself(version: &Member, last_good: &Member) -> bool {
    let (answered, exported) = (version.circuit.answered(), version.policy.verbs());
    let mut in_use = last_good.circuit.answered().iter().filter(|verb| *verb != Verb::Preempt && exported.has(*verb));
    !answered.is_empty() && version.circuit.only_failed().is_empty() && in_use.all(|verb| answered.has(verb))
}
