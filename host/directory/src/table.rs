//! The policies of the directory, and the problems of the directory itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use plimsoll_core::{Failure, Group, Member, PolicyState, Roster};

use crate::{
    ChangeKind, DirectoryConfig, DirectoryError, PolicyChange, RosterUpdate,
    last_good::LastGood,
    load::{LoadJob, LoadOutcome},
    policy::{Pass, PolicyEntry},
    scan::{File, PolicyId, Scan, Sources},
    states::{Event, Files, InForce},
};

/// Every policy of the directory.
pub(crate) struct PolicyTable {
    config: Arc<DirectoryConfig>,
    /// Whether a policy that was there at the start fails its calls until it is loaded.
    stands_in: bool,
    last_good: Option<Arc<LastGood>>,
    groups: BTreeSet<Arc<str>>,
    policies: BTreeMap<PolicyId, PolicyEntry>,
    /// Problems of directories.
    problems: BTreeMap<PolicyId, String>,
    /// Paths of ignored files that were reported.
    ignored: BTreeSet<String>,
    /// The number of the last job.
    jobs: u64,
    /// The changes since the last update was taken.
    changes: Vec<PolicyChange>,
    /// Whether the roster has changed since the last update.
    is_different: bool,
}

/// Where policies that vanished together stay in force: probably an accident with a volume or `rm`, not a decision.
#[derive(Default)]
struct Vanished {
    /// No policy with files is left in any group.
    is_everywhere: bool,
    /// The number of those policies, of the root for all if it is everywhere. Otherwise of each group that has lost all of
    /// several policies, and whose directory is still there.
    groups: BTreeMap<Arc<str>, usize>,
}

// === impl PolicyTable ===

impl PolicyTable {
    /// The policies of the first scan, with their sidecars. With `stands_in`, something answers in the place of each until
    /// a version is loaded.
    pub(crate) fn new(pass: &Pass<'_>, last_good: Option<Arc<LastGood>>, stands_in: bool) -> Self {
        let (scan, wanted) = (pass.settling.scan(), pass.settling.scan().policies());
        let policies = wanted.keys().map(|id| (id.clone(), PolicyEntry::new(InForce::Awaited))).collect();
        let mut table = Self {
            config: Arc::clone(pass.config),
            stands_in,
            last_good,
            groups: BTreeSet::new(),
            policies,
            problems: BTreeMap::new(),
            ignored: BTreeSet::new(),
            jobs: 0,
            changes: Vec::new(),
            is_different: true,
        };
        table.follow_sidecars(&wanted, pass);
        table.note_groups(scan);
        table.set_problems(scan, &wanted, &Vanished::default());
        table
    }

    /// Compares the table with the last scan; returns the jobs to run.
    pub(crate) fn refresh(&mut self, pass: &Pass<'_>) -> Vec<LoadJob> {
        let (scan, wanted) = (pass.settling.scan(), pass.settling.scan().policies());
        let vanished = self.remove_missing(&wanted, pass);
        for id in wanted.keys().filter(|id| !self.policies.contains_key(*id)).cloned().collect::<Vec<_>>() {
            self.policies.insert(id, PolicyEntry::new(InForce::Absent));
        }
        self.follow_sidecars(&wanted, pass);
        let mut jobs = Vec::new();
        for (id, sources) in &wanted {
            let number = self.jobs + 1;
            self.change(id, |policy, changes, _| {
                if policy.is_as_read(sources, scan) {
                    policy.apply(Event::FilesBack);
                }
                jobs.extend(policy.job(id, sources, number, pass));
                changes.extend(policy.report(id, pass));
            });
            self.jobs = number;
        }
        self.set_problems(scan, &wanted, &vanished);
        self.note_groups(scan);
        jobs
    }

    /// Applies the outcome of a job. True if a scan is due: the files have changed, or policies without files can be
    /// decided on.
    pub(crate) fn finish(&mut self, outcome: LoadOutcome, pass: &Pass<'_>) -> bool {
        let (id, mut is_outdated) = (outcome.id.clone(), false);
        self.change(&id, |policy, changes, last_good| {
            // A version that has answered meanwhile is the one to go back to.
            changes.extend(policy.judge(&id, last_good));
            policy.save(&id, last_good);
            changes.extend(policy.finish(outcome, pass.now));
            policy.save(&id, last_good);
            changes.extend(policy.report(&id, pass));
            is_outdated = policy.is_outdated(pass.settling.scan()) || *policy.files() == Files::Unread;
        });
        is_outdated || self.policies.values().any(|policy| matches!(policy.in_force(), InForce::Vanished(_)))
    }

    /// Ends the trials that are decided; true if a version was rolled back, and its files are to be read again.
    pub(crate) fn judge(&mut self) -> bool {
        let before = self.changes.len();
        for id in self.on_trial().cloned().collect::<Vec<_>>() {
            self.change(&id, |policy, changes, last_good| {
                changes.extend(policy.judge(&id, last_good));
                policy.save(&id, last_good);
            });
        }
        self.changes.len() > before
    }

    /// The policies with a version on trial.
    pub(crate) fn on_trial(&self) -> impl Iterator<Item = &PolicyId> {
        let is_on_trial = |policy: &PolicyEntry| matches!(policy.in_force(), InForce::OnTrial { .. });
        self.policies.iter().filter(move |(_, policy)| is_on_trial(policy)).map(|(id, _)| id)
    }

    /// Records that the directory cannot be listed; its policies stay in force.
    pub(crate) fn refuse(&mut self, error: &DirectoryError) {
        let mut problems = self.problems.clone();
        problems.insert(PolicyId::whole(&Arc::from("")), error.to_string());
        self.replace_problems(problems);
    }

    /// The roster, and the changes since the last call.
    pub(crate) fn take_update(&mut self) -> RosterUpdate {
        self.is_different = false;
        RosterUpdate { roster: Arc::new(self.roster()), changes: std::mem::take(&mut self.changes) }
    }

    /// Whether there are changes to publish.
    pub(crate) fn has_update(&self) -> bool {
        self.is_different || !self.changes.is_empty()
    }

    /// When the next retry is due.
    pub(crate) fn next_retry(&self) -> Option<Instant> {
        self.policies.values().filter_map(PolicyEntry::next_retry).min()
    }

    /// Changes a policy, and notes whether the roster shows that.
    fn change(
        &mut self,
        id: &PolicyId,
        change: impl FnOnce(&mut PolicyEntry, &mut Vec<PolicyChange>, Option<&LastGood>),
    ) {
        let Some(policy) = self.policies.get_mut(id) else { return };
        let before = policy.shown();
        change(policy, &mut self.changes, self.last_good.as_deref());
        self.is_different |= policy.shown() != before;
    }

    /// Reads new sidecars, and finds out which modules are libraries: sidecars of others name them, and they have none.
    fn follow_sidecars(&mut self, wanted: &BTreeMap<PolicyId, Sources>, pass: &Pass<'_>) {
        for (id, sources) in wanted {
            self.change(id, |policy, changes, _| changes.extend(policy.follow_sidecar(id, sources, pass)));
        }
        let named: BTreeSet<File> = self.policies.values().filter_map(PolicyEntry::named_module).cloned().collect();
        for (id, sources) in wanted {
            let is_named = sources.module.as_ref().is_some_and(|module| named.contains(module));
            self.change(id, |policy, changes, _| {
                if policy.set_library(is_named && sources.sidecar.is_none()) == Some(true) {
                    changes.push(PolicyChange::new(id, ChangeKind::Library));
                }
            });
        }
    }

    /// Removes the policies whose files are gone, except those that vanished all at once.
    ///
    /// A group whose directory is gone, too, was removed: its URL answers with an error, so no rule is skipped silently. A
    /// directory that has lost its only policy looks like any other removal.
    fn remove_missing(&mut self, wanted: &BTreeMap<PolicyId, Sources>, pass: &Pass<'_>) -> Vanished {
        let Pass { settling, now, .. } = *pass;
        let scan = settling.scan();
        let is_vanished = |policy: &PolicyEntry| matches!(policy.in_force(), InForce::Vanished(_));
        let is_gone = |(id, policy): &(&PolicyId, &PolicyEntry)| {
            !wanted.contains_key(*id)
                && !scan.unreadable.contains(&id.group)
                && (is_vanished(policy) || settling.may_read(policy.files_read(), now))
        };
        let gone: Vec<(PolicyId, bool)> =
            self.policies.iter().filter(is_gone).map(|(id, policy)| (id.clone(), is_vanished(policy))).collect();
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (id, _) in gone.iter().filter(|(id, _)| self.policies[id].in_force().version().is_some()) {
            *counts.entry(Arc::clone(&id.group)).or_default() += 1;
        }
        let left = self.groups_left(wanted, scan);
        let vanished = if self.config.allow_empty {
            Vanished::default()
        } else if left.is_empty() && !counts.is_empty() {
            Vanished { is_everywhere: true, groups: [(Arc::default(), counts.values().sum())].into() }
        } else {
            counts.retain(|group, count| *count > 1 && scan.groups.contains(group) && !left.contains(group));
            Vanished { is_everywhere: false, groups: counts }
        };
        // Files may come back one by one, and take time to load.
        let may_come_back = self.is_trying(wanted) || !settling.is_calm(now);
        for (id, was_vanished) in gone {
            let has_rule = !matches!(self.policies[&id].in_force(), InForce::Absent | InForce::Off { .. });
            if has_rule && (vanished.keeps(&id) || (was_vanished && may_come_back)) {
                self.change(&id, |policy, _, _| policy.apply(Event::FilesGone));
                continue;
            }
            let Some(policy) = self.policies.remove(&id) else { continue };
            self.last_good.iter().for_each(|last_good| last_good.forget(&id));
            if policy.problem().is_some() || policy.member(&id, self.stands_in).is_some() {
                self.changes.push(PolicyChange::new(&id, ChangeKind::Removed { was_kept: was_vanished }));
            }
            self.is_different = true;
        }
        vanished
    }

    /// The groups with a policy that was loaded from the files that are there. A file that was never loaded does not
    /// count: it may be bad.
    fn groups_left(&self, wanted: &BTreeMap<PolicyId, Sources>, scan: &Scan) -> BTreeSet<Arc<str>> {
        let is_left = |(id, sources): &(&PolicyId, &Sources)| {
            self.policies.get(*id).is_some_and(|policy| policy.is_as_read(sources, scan))
        };
        wanted.iter().filter(is_left).map(|(id, _)| Arc::clone(&id.group)).collect()
    }

    /// Whether some files are still being loaded or were not looked at yet.
    fn is_trying(&self, wanted: &BTreeMap<PolicyId, Sources>) -> bool {
        wanted.keys().any(|id| self.policies.get(id).is_none_or(PolicyEntry::is_being_tried))
    }

    fn note_groups(&mut self, scan: &Scan) {
        let groups: BTreeSet<_> = scan.groups.iter().chain(self.policies.keys().map(|id| &id.group)).cloned().collect();
        self.is_different |= groups != self.groups;
        self.groups = groups;
    }

    /// The roster that is in force now.
    fn roster(&self) -> Roster {
        let mut members: BTreeMap<Arc<str>, Vec<Arc<Member>>> =
            self.groups.iter().map(|group| (Arc::clone(group), Vec::new())).collect();
        let (mut failures, mut states) = (Vec::new(), BTreeMap::new());
        for (id, policy) in &self.policies {
            members.entry(Arc::clone(&id.group)).or_default().extend(policy.member(id, self.stands_in));
            if let Some(refusal) = policy.problem() {
                failures.push(failure_of(id, &refusal.text, policy.in_force().version().is_some()));
            }
            states.insert(Member::id_of(&id.group, &id.name), policy.state());
        }
        states.retain(|_, state| *state != PolicyState::Active);
        failures.extend(self.problems.iter().map(|(id, text)| failure_of(id, text, self.keeps(id))));
        let groups = members.into_iter().map(|(name, members)| (name, Group::new(members))).collect();
        Roster::new(groups, failures).with_states(states)
    }

    fn set_problems(&mut self, scan: &Scan, wanted: &BTreeMap<PolicyId, Sources>, vanished: &Vanished) {
        let mut problems = scan.problems.clone();
        let of_vanished = vanished.problems(&self.config, wanted);
        // While files are being loaded, one of them may load.
        let is_open = !wanted.is_empty() && self.is_trying(wanted);
        problems.extend(of_vanished.into_iter().filter_map(|(id, text)| {
            let text = if is_open { self.problems.get(&id)?.clone() } else { text };
            Some((id, text))
        }));
        if self.policies.is_empty() && problems.is_empty() && !self.config.allow_empty {
            let text = format!(
                "{} holds no policies: expected .wasm files, .yaml files with `cel`, or --allow-empty to run without any",
                self.config.path.display()
            );
            problems.insert(PolicyId::whole(&Arc::from("")), text);
        }
        self.replace_problems(problems);
        // Each ignored file is reported once, as long as it is there.
        let new = scan.ignored.iter().filter(|(path, _)| !self.ignored.contains(*path));
        self.changes.extend(new.map(|(path, why)| PolicyChange::new(path, ChangeKind::Ignored { why })));
        self.ignored = scan.ignored.keys().cloned().collect();
    }

    fn replace_problems(&mut self, problems: BTreeMap<PolicyId, String>) {
        for (id, text) in problems.iter().filter(|(id, text)| self.problems.get(*id) != Some(*text)) {
            let kind = ChangeKind::Problem { error: text.clone(), kept: self.keeps(id) };
            self.changes.push(PolicyChange::new(id, kind));
        }
        for (id, error) in self.problems.iter().filter(|(id, _)| !problems.contains_key(*id)) {
            self.changes.push(PolicyChange::new(id, ChangeKind::Cleared { error: error.clone() }));
        }
        self.problems = problems;
    }

    /// Whether a directory's problem leaves policies in force; the root's are the ones of all groups.
    fn keeps(&self, problem: &PolicyId) -> bool {
        let concerns =
            |id: &PolicyId| *problem == PolicyId::whole(&Arc::from("")) || *problem == PolicyId::whole(&id.group);
        self.policies.iter().any(|(id, policy)| concerns(id) && policy.in_force().version().is_some())
    }
}

// === impl Vanished ===

impl Vanished {
    /// Whether this policy stays in force.
    fn keeps(&self, id: &PolicyId) -> bool {
        self.is_everywhere || self.groups.contains_key(&id.group)
    }

    /// The problems to report, by directory.
    fn problems(&self, config: &DirectoryConfig, wanted: &BTreeMap<PolicyId, Sources>) -> Vec<(PolicyId, String)> {
        let problem = |(group, count): (&Arc<str>, &usize)| {
            let directory = config.path.join(&**group);
            let directory = if group.is_empty() { &config.path } else { &directory }.display();
            let has_files = wanted.keys().any(|id| self.is_everywhere || id.group == *group);
            let what = if has_files { "file that loads" } else { "files any more" };
            let text = format!(
                "{directory} holds no policy {what}: its {count} last good policies stay in force until a policy is loaded; \
                 --allow-empty lets them go"
            );
            (PolicyId::whole(group), text)
        };
        self.groups.iter().map(problem).collect()
    }
}

fn failure_of(id: &PolicyId, text: &str, kept: bool) -> Failure {
    Failure { group: Arc::clone(&id.group), name: Arc::clone(&id.name), error: text.to_owned(), kept }
}
