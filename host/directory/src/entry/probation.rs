//! Probation: after its first calls a new version is confirmed or rolled back.

use std::time::Duration;

use super::PolicyEntry;
use crate::{
    PolicyChange,
    scan::PolicyId,
    source::{ContentDigests, FileRefusal},
};

/// How long a version may take to answer the call that a newer one failed.
const REPEAT_FOR: Duration = Duration::from_secs(1);

/// The result of a version's first calls.
pub(crate) enum Judgement {
    /// Nothing yet.
    Open,
    /// It answers; the digests of its files.
    Good(ContentDigests),
    /// It was rolled back.
    Bad {
        /// What it was made of.
        digests: ContentDigests,
        /// The problem that is reported for its files from now on.
        why: String,
        /// What happened.
        change: PolicyChange,
    },
}

impl PolicyEntry {
    /// Whether there is a version to go back to, and the one in force is asked.
    pub(crate) fn is_on_probation(&self) -> bool {
        self.before.is_some() && !self.switch.is_off()
    }

    /// Ends the probation if the version in force has answered, and says what that was made of.
    pub(crate) fn confirm(&mut self) -> Option<ContentDigests> {
        let version = self.version.as_ref().filter(|version| version.member.circuit.has_answered())?;
        self.before.take()?;
        version.member.circuit.end_probation();
        Some(version.digests.clone())
    }

    /// Ends the probation once the version in force has answered; rolls back if it fails from its first calls on and
    /// the previous version answers the same call.
    pub(crate) fn judge(&mut self, id: &PolicyId) -> Judgement {
        if let Some(digests) = self.confirm() {
            return Judgement::Good(digests);
        }
        let (Some(version), Some(before)) = (&self.version, &self.before) else { return Judgement::Open };
        let circuit = &version.member.circuit;
        let Some(call) = circuit.take_failed() else { return Judgement::Open };
        if call.put_to(&before.member, REPEAT_FOR).is_err() {
            return Judgement::Open;
        }
        let (number, back, digests) = (version.member.version, before.member.version, version.digests.clone());
        let error = format!("it failed to {} from its first calls on ({})", call.verb(), call.fault());
        let refusal = FileRefusal::taken_back(format!("{error}; the version before answers the same call"));
        circuit.end_probation();
        self.version = self.before.take();
        self.refused = Some((digests.clone(), refusal.clone()));
        self.held = None;
        let why = refusal.text.clone();
        self.reported = Some(refusal);
        let change = PolicyChange::TakenBack { id: id.to_string(), version: number, back, error };
        Judgement::Bad { digests, why, change }
    }
}
