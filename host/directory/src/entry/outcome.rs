//! Applies the outcome of a load: a version is put in force, or its files are refused.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::LazyLock,
    time::{Duration, Instant, SystemTime},
};

use super::{PolicyEntry, VanishState};
use crate::{
    PolicyChange,
    load::{LoadOutcome, LoadResult, LoadTime, PolicyVersion},
    refusal::FileRefusal,
    scan::PolicyId,
    source::ContentDigests,
    table::Timing,
};

/// The number of times that files are read again because they changed during a read, before the load fails.
const MAX_CHANGING_READS: u32 = 50;

/// A hash with a key that only this process knows. A plain digest of settings would tell a short secret in them to
/// anyone who tries all of them.
fn fingerprint(digest: &str) -> String {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    format!("{:016x}", KEY.hash_one(digest))
}

impl PolicyEntry {
    /// Whether this is the outcome of the load in progress; the outcome of an earlier one is obsolete.
    pub(crate) fn awaits(&self, outcome: &LoadOutcome) -> bool {
        self.job == Some(outcome.number)
    }

    /// Applies the outcome of a job; `None` if it is obsolete.
    pub(crate) fn finish(&mut self, outcome: LoadOutcome, timing: &dyn Timing) -> Option<PolicyChange> {
        if !self.awaits(&outcome) {
            return None;
        }
        self.job = None;
        let LoadOutcome { id, stamps, summary, time, result, .. } = outcome;
        let may_repeat = stamps.values().flatten().any(|stamp| stamp.may_repeat(SystemTime::now()));
        self.stale = may_repeat || matches!(result, LoadResult::Changing);
        self.stamps = stamps;
        if let Some(summary) = summary.as_ref().filter(|_| !matches!(result, LoadResult::Changing)) {
            self.sidecar_mode.apply_load(summary);
        }
        self.set_summary(summary);
        let change = self.apply_result(&id, result, time, timing.now());
        self.renew_stand_in(&id);
        change
    }

    fn apply_result(
        &mut self,
        id: &PolicyId,
        result: LoadResult,
        time: LoadTime,
        now: Instant,
    ) -> Option<PolicyChange> {
        self.changing_reads = if matches!(result, LoadResult::Changing) { self.changing_reads + 1 } else { 0 };
        if self.changing_reads >= MAX_CHANGING_READS {
            self.changing_reads = 0;
            self.refuse_unread();
        }
        match result {
            LoadResult::Changing => None,
            LoadResult::InForce => {
                self.pending_refusal = None;
                self.vanished = VanishState::No;
                self.retry.settle();
                self.reported.take().map(|_| PolicyChange::Unchanged { id: id.to_string() })
            }
            LoadResult::RefusedBefore(digests) => {
                let known = self.refused.as_ref().filter(|(refused, _)| *refused == digests);
                self.pending_refusal = known.map(|(_, refusal)| refusal.clone());
                None
            }
            LoadResult::Refused(refusal, digests) => {
                self.refuse(refusal, digests, time, now);
                None
            }
            LoadResult::Restored { last_good, refusal, digests } => {
                let change = self.put_in_force(id, last_good, time.total);
                self.refuse(refusal, digests, time, now);
                Some(change)
            }
            LoadResult::Loaded { version, last_good } => {
                // The one from before a restart answers once the policy is switched on, or if the version fails.
                let kept = if version.is_off() { &mut self.version } else { &mut self.last_good };
                *kept = kept.take().or(last_good);
                Some(self.put_in_force(id, version, time.total))
            }
        }
    }

    /// Records why the files are refused, and when to try again if that is transient.
    fn refuse(&mut self, refusal: FileRefusal, digests: Option<ContentDigests>, time: LoadTime, now: Instant) {
        if refusal.transient {
            self.retry.failed(digests.clone(), time.without_loader, now);
        } else {
            self.retry.settle();
        }
        self.refused = digests.map(|digests| (digests, refusal.clone()));
        self.pending_refusal = Some(refusal);
    }

    fn put_in_force(&mut self, id: &PolicyId, version: PolicyVersion, took: Duration) -> PolicyChange {
        let former = self.off.as_ref().or(self.version.as_ref());
        let only_settings = former.is_some_and(|former| former.digests.module == version.digests.module);
        let change = PolicyChange::Loaded {
            id: id.to_string(),
            mode: version.member.config.mode,
            digest: version.digests.module.clone(),
            sidecar: version.digests.sidecar.as_deref().map(fingerprint),
            only_settings,
            version: version.member.version,
            took,
        };
        self.last_version = version.member.version;
        if version.is_off() {
            // The version that was in force waits until the policy is switched on again.
            self.off = Some(version);
        } else {
            // A version that has not answered a call yet does not replace the last good one.
            self.last_good = self.last_good.take().or(self.version.take());
            if self.last_good.is_some() {
                version.member.circuit.begin_probation();
            }
            (self.version, self.off) = (Some(version), None);
            self.is_awaited = false;
        }
        (self.pending_refusal, self.reported, self.refused) = (None, None, None);
        self.retry.settle();
        self.vanished = VanishState::No;
        change
    }

    /// Records that the files cannot be read as one consistent set.
    pub(crate) fn refuse_unread(&mut self) {
        self.pending_refusal = Some(FileRefusal::transient("its files change while they are read"));
    }

    /// Reports the problem of the files, once nobody can still be writing them.
    pub(crate) fn report(&mut self, id: &PolicyId, timing: &dyn Timing) -> Option<PolicyChange> {
        if self.pending_refusal.is_none() || !timing.may_report(&mut self.stamps.keys()) {
            return None;
        }
        let refusal = self.pending_refusal.take()?;
        let is_other = self.reported.as_ref().is_none_or(|reported| reported.text != refusal.text);
        let error = refusal.text.clone();
        self.reported = Some(refusal);
        self.renew_stand_in(id);
        let is_off = self.is_switched_off();
        let was_off = std::mem::replace(&mut self.was_off_since_report, is_off);
        // The same error means something else once the policy is switched on.
        let is_news = is_other || (was_off && !is_off);
        is_news.then(|| PolicyChange::Refused { id: id.to_string(), error, kept: self.is_in_force() })
    }
}
