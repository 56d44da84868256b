//! The policies that are in force: an immutable table that a reload replaces as a whole.

mod group;
mod member;

use std::{collections::BTreeMap, fmt, sync::Arc};

pub use self::{group::Group, member::Member};

/// A policy that could not be loaded as its files stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its group; empty for the root.
    pub group: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Why, with file, line and field.
    pub error: String,
    /// Whether the last good version goes on answering.
    pub kept: bool,
}

crate::words! {
    /// The state of a policy and its files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum PolicyState {
        /// The version that its files make is in force.
        Active = "active",
        /// It is being loaded for the first time.
        Loading = "loading",
        /// Its files are refused; the last good version is in force.
        Kept = "kept",
        /// Its newest version failed from its first calls on; the last one that has answered is in force again.
        RolledBack = "rolled-back",
        /// Its files went together with all others; the last good version is in force.
        Vanished = "vanished",
        /// Its files are refused, and no version is in force.
        Failed = "failed",
        /// Its sidecar switches it off, and no version is loaded from its files as they stand now.
        Off = "off",
        /// A module that sidecars of others name; it is asked nothing by itself.
        Library = "library",
    }
}

/// Every group by name; the root's name is empty.
#[derive(Debug, Default, Clone)]
pub struct Roster {
    groups: BTreeMap<Arc<str>, Group>,
    failures: Vec<Failure>,
    /// By name with group; a policy that is not here is active.
    states: BTreeMap<Arc<str>, PolicyState>,
    /// Whether a filter that is in force may read placed pods.
    reads_pods: bool,
}

// === impl Failure ===

impl Failure {
    /// Stands where a name would, if it is a whole directory that failed: the root's, or a group's. No policy has such
    /// a name.
    pub const DIRECTORY: &str = "(directory)";

    /// Whether it is a whole directory that failed.
    pub fn is_of_directory(&self) -> bool {
        &*self.name == Self::DIRECTORY
    }

    /// The name with its group: `gpu/binpack`.
    pub fn id(&self) -> Arc<str> {
        Member::id_of(&self.group, &self.name)
    }
}

/// The error of a directory names it already.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_directory() {
            f.write_str(&self.error)
        } else {
            write!(f, "policy {}: {}", self.id(), self.error)
        }
    }
}

// === impl Roster ===

impl Roster {
    /// A table of these groups, and of the failures to load.
    pub fn new(groups: BTreeMap<Arc<str>, Group>, failures: Vec<Failure>) -> Self {
        let reads_pods = groups.values().any(Group::reads_pods);
        Self { groups, failures, states: BTreeMap::new(), reads_pods }
    }

    /// Whether a filter that is in force may read placed pods.
    pub(crate) const fn reads_pods(&self) -> bool {
        self.reads_pods
    }

    /// The same, and how each policy stands, by name with group.
    #[must_use]
    pub fn with_states(self, states: BTreeMap<Arc<str>, PolicyState>) -> Self {
        Self { states, ..self }
    }

    /// The state of the policy with this name (and group).
    pub fn state(&self, id: &str) -> PolicyState {
        self.states.get(id).copied().unwrap_or(PolicyState::Active)
    }

    /// The states of every policy that is in force or would be, by name with group.
    pub fn states(&self) -> BTreeMap<Arc<str>, PolicyState> {
        let members = self.members().map(|member| (Arc::clone(&member.id), PolicyState::Active));
        let mut states: BTreeMap<_, _> = members.collect();
        states.extend(self.states.iter().map(|(id, state)| (Arc::clone(id), *state)));
        states
    }

    /// A table with policies of the root group alone.
    pub fn of_root(members: Vec<Arc<Member>>) -> Self {
        Self::new(BTreeMap::from([(Arc::from(""), Group::new(members))]), Vec::new())
    }

    /// The group with this name; the root's is empty.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name)
    }

    /// Every group by name.
    pub fn groups(&self) -> impl Iterator<Item = (&Arc<str>, &Group)> {
        self.groups.iter()
    }

    /// Every policy of every group.
    pub fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.groups.values().flat_map(Group::members)
    }

    /// Bytes of all cached answers.
    pub(crate) fn cached_bytes(&self) -> usize {
        let caches: usize = self.members().map(|member| member.cache.bytes()).sum();
        let combined: usize = self.groups.values().map(Group::combined_bytes).sum();
        caches + combined
    }

    /// The problems with directories and file names, rather than with one policy.
    pub fn directory_failures(&self) -> impl Iterator<Item = &Failure> {
        let states = self.states();
        self.failures.iter().filter(move |failure| !states.contains_key(&failure.id()))
    }

    /// The failures to load the files as they stand now.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}
