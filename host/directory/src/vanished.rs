//! Policies that are gone all at once: that is an accident of a volume or of `rm`, rarely a decision.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use crate::scan::{Id, Scan, Sources};

/// The policies that stay in force although their files are gone.
#[derive(Default)]
pub(crate) struct Vanished {
    /// No policy file is left anywhere: how many policies that were.
    everywhere: Option<usize>,
    /// Groups whose directory is there and has lost all of several policies: how many.
    groups: BTreeMap<Arc<str>, usize>,
}

// === impl Vanished ===

impl Vanished {
    /// Judges policies that were in force and whose files are gone.
    ///
    /// A group whose directory is gone as well was removed: its URL answers with an error from then on, so
    /// no rule is missing in silence. A directory that is still there and lost its only policy looks like
    /// any other removal of a file.
    pub(crate) fn of<'i>(gone: impl Iterator<Item = &'i Id>, wanted: &BTreeMap<Id, Sources>, scan: &Scan) -> Self {
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        gone.for_each(|id| *counts.entry(Arc::clone(&id.group)).or_default() += 1);
        let total: usize = counts.values().sum();
        if wanted.is_empty() {
            return Self { everywhere: (total > 0).then_some(total), groups: BTreeMap::new() };
        }
        let left: BTreeSet<&Arc<str>> = wanted.keys().map(|id| &id.group).collect();
        counts.retain(|group, count| *count > 1 && scan.groups.contains(group) && !left.contains(group));
        Self { everywhere: None, groups: counts }
    }

    /// Whether this policy stays in force.
    pub(crate) fn keeps(&self, id: &Id) -> bool {
        self.everywhere.is_some() || self.groups.contains_key(&id.group)
    }

    /// What there is to say about it, by directory.
    pub(crate) fn problems(&self, root: &Path) -> BTreeMap<Id, String> {
        let all = self.everywhere.map(|count| (Arc::from(""), count));
        let groups = self.groups.iter().map(|(group, count)| (Arc::clone(group), *count));
        all.into_iter()
            .chain(groups)
            .map(|(group, count)| {
                let directory = if group.is_empty() { root.to_owned() } else { root.join(&*group) };
                let text = format!(
                    "{} holds no policy files any more: its {count} last good policies stay in force until there are \
                     files again; --allow-empty lets them go",
                    directory.display()
                );
                (Id::whole(&group), text)
            })
            .collect()
    }
}
