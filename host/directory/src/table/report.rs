//! The report of the table: the roster, and the problems of directories.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use plimsoll_core::{Failure, Group, Member, PolicyState, Roster};

use super::PolicyTable;
use crate::{
    PolicyChange,
    scan::{PolicyId, Scan, Sources},
    vanished::VanishedPolicies,
};

impl PolicyTable {
    /// The roster that is in force now.
    pub(crate) fn roster(&self) -> Roster {
        let mut members: BTreeMap<Arc<str>, Vec<Arc<Member>>> = BTreeMap::new();
        for group in &self.groups {
            members.entry(Arc::clone(group)).or_default();
        }
        let (mut failures, mut states) = (Vec::new(), BTreeMap::new());
        for (id, entry) in &self.entries {
            if let Some(member) = entry.member() {
                members.entry(Arc::clone(&id.group)).or_default().push(Arc::clone(member));
            }
            if let Some(refusal) = entry.reported() {
                failures.push(failure_of(id, &refusal.text, entry.is_in_force()));
            }
            if entry.state() != PolicyState::Active {
                states.insert(Member::id_of(&id.group, &id.name), entry.state());
            }
        }
        failures.extend(self.problems.iter().map(|(id, text)| failure_of(id, text, self.keeps(id))));
        let groups = members.into_iter().map(|(name, members)| (name, Group::new(members))).collect();
        Roster::new(groups, failures).with_states(states)
    }

    pub(super) fn set_problems(
        &mut self,
        scan: &Scan,
        wanted: &BTreeMap<PolicyId, Sources>,
        vanished: &VanishedPolicies,
    ) {
        let mut problems = scan.problems.clone();
        problems.extend(self.of_vanished(wanted, vanished));
        if self.entries.is_empty() && problems.is_empty() && !self.allow_empty {
            let text = format!(
                "{} holds no policies: expected .wasm files, or --allow-empty to run without any",
                self.root.display()
            );
            problems.insert(PolicyId::whole(&Arc::from("")), text);
        }
        self.replace_problems(problems);
        self.replace_ignored(&scan.ignored);
    }

    /// Reports each ignored file once, as long as it is there.
    fn replace_ignored(&mut self, ignored: &BTreeMap<String, &'static str>) {
        let new = ignored.iter().filter(|(path, _)| !self.ignored.contains(*path));
        self.changes.extend(new.map(|(path, why)| PolicyChange::Ignored { id: path.clone(), why }));
        self.ignored = ignored.keys().cloned().collect();
    }

    /// Problems of vanished policies; unchanged while files are being loaded, since one of them may load.
    fn of_vanished(
        &self,
        wanted: &BTreeMap<PolicyId, Sources>,
        vanished: &VanishedPolicies,
    ) -> BTreeMap<PolicyId, String> {
        let with_files: BTreeSet<Arc<str>> = wanted.keys().map(|id| Arc::clone(&id.group)).collect();
        let now = vanished.problems(&self.root, &with_files);
        if wanted.is_empty() || !self.is_trying(wanted) {
            return now;
        }
        now.into_keys().filter_map(|id| self.problems.get(&id).map(|text| (id, text.clone()))).collect()
    }

    pub(super) fn replace_problems(&mut self, problems: BTreeMap<PolicyId, String>) {
        for (id, text) in &problems {
            if self.problems.get(id) != Some(text) {
                let kept = self.keeps(id);
                self.changes.push(PolicyChange::Problem { id: id.to_string(), error: text.clone(), kept });
            }
        }
        for (id, error) in self.problems.iter().filter(|(id, _)| !problems.contains_key(id)) {
            self.changes.push(PolicyChange::Cleared { id: id.to_string(), error: error.clone() });
        }
        self.problems = problems;
    }

    /// Whether a directory's problem leaves policies in force; the root's are the ones of all groups.
    fn keeps(&self, problem: &PolicyId) -> bool {
        let concerns =
            |id: &PolicyId| *problem == PolicyId::whole(&Arc::from("")) || *problem == PolicyId::whole(&id.group);
        self.entries.iter().any(|(id, entry)| concerns(id) && entry.is_loaded())
    }
}

fn failure_of(id: &PolicyId, text: &str, kept: bool) -> Failure {
    Failure { group: Arc::clone(&id.group), name: Arc::clone(&id.name), error: text.to_owned(), kept }
}
