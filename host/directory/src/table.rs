//! The policies of the directory, and the problems of the directory itself.

mod probation;
mod report;
mod timing;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Instant,
};

pub(crate) use self::timing::{Immediately, Timing};
use crate::{
    DirectoryConfig, DirectoryError, PolicyChange, RosterUpdate,
    config::ReadLimits,
    entry::PolicyEntry,
    last_good::LastGood,
    load::{LoadJob, LoadOutcome, LoadResult},
    past_versions::PastVersions,
    scan::{File, PolicyId, Scan, Sources},
    source::SidecarSummary,
    vanished::VanishedPolicies,
};

/// Every policy of the directory.
pub(crate) struct PolicyTable {
    root: PathBuf,
    bounds: ReadLimits,
    allow_empty: bool,
    last_good: Option<Arc<LastGood>>,
    /// Whether stored versions of removed policies have been swept.
    is_swept: bool,
    groups: BTreeSet<Arc<str>>,
    entries: BTreeMap<PolicyId, PolicyEntry>,
    /// Problems of directories.
    problems: BTreeMap<PolicyId, String>,
    /// Paths of ignored files that were reported.
    ignored: BTreeSet<String>,
    past: PastVersions,
    /// The number of the next job.
    next_job: u64,
    /// The changes since the last update was taken.
    changes: Vec<PolicyChange>,
    /// Whether the roster has changed since the last update.
    is_different: bool,
}

// === impl PolicyTable ===

impl PolicyTable {
    /// An empty table.
    pub(crate) fn new(config: &DirectoryConfig, last_good: Option<Arc<LastGood>>) -> Self {
        Self {
            root: config.path.clone(),
            bounds: config.bounds(),
            allow_empty: config.allow_empty,
            last_good,
            is_swept: false,
            groups: BTreeSet::new(),
            entries: BTreeMap::new(),
            problems: BTreeMap::new(),
            ignored: BTreeSet::new(),
            past: PastVersions::default(),
            next_job: 0,
            changes: Vec::new(),
            is_different: false,
        }
    }

    /// Records the policies of the first scan, with the summaries of their readable sidecars.
    ///
    /// With `stand_in`, the faults of each count until a version of it is loaded.
    pub(crate) fn begin(
        &mut self,
        scan: &Scan,
        mut sidecars: BTreeMap<PolicyId, Option<SidecarSummary>>,
        stand_in: bool,
    ) {
        let wanted = scan.policies();
        self.last_good.iter().for_each(|last_good| last_good.expect(wanted.keys()));
        for (id, sources) in &wanted {
            let summary = sidecars.remove(id).flatten();
            self.entries.entry(id.clone()).or_default().begin(id, sources, scan, summary, stand_in);
        }
        self.note_libraries(&wanted);
        self.note_groups(scan);
        self.set_problems(scan, &wanted, &VanishedPolicies::default());
    }

    /// Compares the table with a scan, as far as the timing allows; returns the jobs to run.
    pub(crate) fn refresh(&mut self, scan: &Arc<Scan>, timing: &dyn Timing) -> Vec<LoadJob> {
        let wanted = scan.policies();
        let vanished = self.remove_missing(&wanted, scan, timing);
        for id in wanted.keys().filter(|id| !self.entries.contains_key(*id)).cloned().collect::<Vec<_>>() {
            let entry = PolicyEntry::after(self.past.last_of(&id));
            self.entries.insert(id, entry);
        }
        self.note_libraries(&wanted);
        let mut jobs = Vec::new();
        for (id, sources) in &wanted {
            let Some(entry) = self.entries.get_mut(id) else { continue };
            self.is_different |= entry.set_present(sources, scan);
            let read = || SidecarSummary::read(&self.root, sources, &self.bounds);
            let was_off = entry.is_switched_off();
            if entry.follow_sidecar_mode(id, sources, scan, timing, read) {
                self.is_different = true;
                self.changes.extend(entry.switched_off(id).filter(|_| !was_off));
            }
            if let Some(job) = entry.job(id, sources, scan, self.next_job, timing) {
                self.next_job += 1;
                jobs.push(job);
            }
            self.changes.extend(entry.report(id, timing));
        }
        self.set_problems(scan, &wanted, &vanished);
        self.note_groups(scan);
        jobs
    }

    /// Applies the outcome of a job. True if a scan is due: the sidecar names another module, or policies with vanished
    /// files can be decided on.
    pub(crate) fn finish(&mut self, mut outcome: LoadOutcome, timing: &dyn Timing) -> bool {
        let id = outcome.id.clone();
        let Some(entry) = self.entries.get_mut(&id) else { return false };
        if entry.awaits(&outcome)
            && let LoadResult::Loaded { version, .. } = &outcome.result
        {
            let is_off = version.is_off();
            let staged = outcome.staged.take();
            // A version that has answered meanwhile is the one to go back to.
            let confirmed = entry.confirm();
            if let Some(last_good) = &self.last_good {
                if let Some(digests) = &confirmed {
                    last_good.promote(&id, digests);
                }
                // The version that is kept answers once the policy is switched on again.
                if !is_off {
                    last_good.keep(&id, staged.as_ref());
                }
            }
        }
        let (before, state, named) = (entry.member().cloned(), entry.state(), entry.named_module().cloned());
        let was_off = entry.is_switched_off();
        self.changes.extend(entry.finish(outcome, timing));
        if !was_off {
            self.changes.extend(entry.switched_off(&id));
        }
        self.changes.extend(entry.report(&id, timing));
        let is_same = match (&before, entry.member()) {
            (Some(before), Some(member)) => Arc::ptr_eq(before, member),
            (None, None) => true,
            _ => false,
        };
        self.is_different |= !is_same || state != entry.state();
        let is_due = entry.named_module() != named.as_ref() || self.entries.values().any(PolicyEntry::has_vanished);
        self.sweep_once();
        is_due
    }

    /// Removes stored versions of policies that were removed while no gateway ran, once all existing ones were tried.
    ///
    /// Not while a directory has a problem: policies that cannot be listed may come back.
    fn sweep_once(&mut self) {
        if !self.is_swept && self.problems.is_empty() && !self.has_unread() {
            self.is_swept = true;
            self.last_good.iter().for_each(|last_good| last_good.sweep());
        }
    }

    /// Records that the directory cannot be listed; its policies stay in force.
    pub(crate) fn refuse(&mut self, error: &DirectoryError) {
        let mut problems = self.problems.clone();
        problems.insert(PolicyId::whole(&Arc::from("")), error.to_string());
        self.replace_problems(problems);
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_update(&mut self) -> Option<RosterUpdate> {
        let changes = std::mem::take(&mut self.changes);
        let is_different = std::mem::take(&mut self.is_different) || !changes.is_empty();
        is_different.then(|| RosterUpdate { roster: Arc::new(self.roster()), changes })
    }

    /// Whether there are changes to report.
    pub(crate) fn has_update(&self) -> bool {
        self.is_different || !self.changes.is_empty()
    }

    /// When the next retry is due.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.entries.values().filter_map(PolicyEntry::next_retry).min()
    }

    /// Whether some policy is neither loaded nor refused.
    pub(crate) fn has_unread(&self) -> bool {
        self.entries.values().any(PolicyEntry::is_unread)
    }

    /// Marks the policies that were never read completely as failed.
    pub(crate) fn refuse_unread(&mut self) {
        for (id, entry) in self.entries.iter_mut().filter(|(_, entry)| entry.is_unread()) {
            entry.refuse_unread();
            self.changes.extend(entry.report(id, &Immediately));
        }
    }

    /// Removes the policies whose files are gone, except those that vanished all at once.
    fn remove_missing(
        &mut self,
        wanted: &BTreeMap<PolicyId, Sources>,
        scan: &Scan,
        timing: &dyn Timing,
    ) -> VanishedPolicies {
        let is_gone = |(id, entry): &(&PolicyId, &mut PolicyEntry)| {
            !wanted.contains_key(*id)
                && !scan.unreadable.contains(&id.group)
                && (entry.has_vanished() || timing.may_read(&mut entry.stamps()))
        };
        let (left, is_trying) = (self.groups_left(wanted, scan), self.is_trying(wanted));
        let mut gone: Vec<(&PolicyId, &mut PolicyEntry)> = self.entries.iter_mut().filter(is_gone).collect();
        let ruling = gone.iter().filter(|(_, entry)| entry.is_loaded()).map(|(id, _)| *id);
        let vanished =
            if self.allow_empty { VanishedPolicies::default() } else { VanishedPolicies::of(ruling, &left, scan) };
        let mut dropped = Vec::new();
        for (id, entry) in &mut gone {
            // Files may come back one by one, and take time to load.
            let stays = vanished.keeps(id) || (entry.has_vanished() && (is_trying || !timing.is_calm()));
            if stays && entry.member().is_some() {
                self.is_different |= entry.set_vanished();
            } else {
                dropped.push((*id).clone());
            }
        }
        for id in &dropped {
            self.remove(id);
        }
        vanished
    }

    /// The groups with a policy that was loaded from the files that are there.
    fn groups_left(&self, wanted: &BTreeMap<PolicyId, Sources>, scan: &Scan) -> BTreeSet<Arc<str>> {
        let is_left = |(id, sources): &(&PolicyId, &Sources)| {
            self.entries.get(*id).is_some_and(|entry| entry.is_left(sources, scan))
        };
        wanted.iter().filter(is_left).map(|(id, _)| Arc::clone(&id.group)).collect()
    }

    /// Whether some files are still being loaded or were not looked at yet.
    fn is_trying(&self, wanted: &BTreeMap<PolicyId, Sources>) -> bool {
        wanted.keys().any(|id| self.entries.get(id).is_none_or(PolicyEntry::is_being_tried))
    }

    fn remove(&mut self, id: &PolicyId) {
        let Some(entry) = self.entries.remove(id) else { return };
        self.last_good.iter().for_each(|last_good| last_good.forget(id));
        if entry.member().is_some() || entry.reported().is_some() {
            self.changes.push(PolicyChange::Removed { id: id.to_string(), was_kept: entry.has_vanished() });
        }
        self.past.add(id.clone(), entry.last_version());
        self.is_different = true;
    }

    /// A module that sidecars of others name is no policy unless it has a sidecar.
    fn note_libraries(&mut self, wanted: &BTreeMap<PolicyId, Sources>) {
        let named: BTreeSet<File> = self.entries.values().filter_map(PolicyEntry::named_module).cloned().collect();
        for (id, entry) in &mut self.entries {
            let Some(sources) = wanted.get(id) else { continue };
            let is_named = sources.module.as_ref().is_some_and(|module| named.contains(module));
            let was_in_force = entry.is_loaded();
            if entry.set_library(id, is_named && sources.sidecar.is_none()) {
                self.is_different = true;
                if was_in_force {
                    self.changes.push(PolicyChange::Library { id: id.to_string() });
                }
            }
        }
    }

    fn note_groups(&mut self, scan: &Scan) {
        let of_entries = self.entries.keys().map(|id| &id.group);
        let groups: BTreeSet<_> = scan.groups.iter().chain(of_entries).cloned().collect();
        self.is_different |= groups != self.groups;
        self.groups = groups;
    }
}
