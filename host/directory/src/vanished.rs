//! Policies that vanish all at once: probably an accident with a volume or `rm`, not a decision.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use crate::scan::{PolicyId, Scan};

/// The policies that stay in force although their files are gone.
#[derive(Default)]
pub(crate) struct VanishedPolicies {
    /// Set if no policy with files is left in any group: the number of vanished ones.
    everywhere: Option<usize>,
    /// Groups whose directory exists but has lost all of several policies, with their number.
    groups: BTreeMap<Arc<str>, usize>,
}

// === impl VanishedPolicies ===

impl VanishedPolicies {
    /// Judges policies in force whose files are gone; `left` are the groups that still have a policy loaded from
    /// existing files. A file that was never loaded does not count: it may be bad.
    ///
    /// A group whose directory is gone, too, was removed: its URL answers with an error, so no rule is skipped
    /// silently. A directory that has lost its only policy looks like any other removal.
    pub(crate) fn of<'i>(gone: impl Iterator<Item = &'i PolicyId>, left: &BTreeSet<Arc<str>>, scan: &Scan) -> Self {
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        gone.for_each(|id| *counts.entry(Arc::clone(&id.group)).or_default() += 1);
        let total: usize = counts.values().sum();
        if left.is_empty() {
            return Self { everywhere: (total > 0).then_some(total), groups: BTreeMap::new() };
        }
        counts.retain(|group, count| *count > 1 && scan.groups.contains(group) && !left.contains(group));
        Self { everywhere: None, groups: counts }
    }

    /// Whether this policy stays in force.
    pub(crate) fn keeps(&self, id: &PolicyId) -> bool {
        self.everywhere.is_some() || self.groups.contains_key(&id.group)
    }

    /// The problems to report, by directory; `with_files` are the groups that have policy files.
    pub(crate) fn problems(&self, root: &Path, with_files: &BTreeSet<Arc<str>>) -> BTreeMap<PolicyId, String> {
        let all = self.everywhere.map(|count| (Arc::from(""), count, !with_files.is_empty()));
        let of_group = |(group, count): (&Arc<str>, &usize)| (Arc::clone(group), *count, with_files.contains(group));
        let problem = |(group, count, has_files): (Arc<str>, usize, bool)| {
            let directory = if group.is_empty() { root.to_owned() } else { root.join(&*group) };
            let what = if has_files { "file that loads" } else { "files any more" };
            let text = format!(
                "{} holds no policy {what}: its {count} last good policies stay in force until a policy is loaded; \
                 --allow-empty lets them go",
                directory.display()
            );
            (PolicyId::whole(&group), text)
        };
        all.into_iter().chain(self.groups.iter().map(of_group)).map(problem).collect()
    }
}
