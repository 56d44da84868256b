//! The policies that are in force: an immutable table that a reload replaces as a whole.

use std::{collections::BTreeMap, fmt, sync::Arc};

use plimsoll_decision_cache::{Evict, evict_to};

use crate::{
    cache::{DecisionCache, RecentCombined},
    decide::{Calls, Circuit},
    model::{Cluster, FactAccess, Mode, Pod, Policy, PolicyConfig, ShapeLimit, SidecarFacts, Verb, View},
};

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

/// The policies behind one URL, in the order in which filters run.
#[derive(Debug, Default, Clone)]
pub struct Group {
    /// Shared, so that a request takes the whole group without a copy.
    members: Arc<[Arc<Member>]>,
    /// Whether the filter of one is in force and may read placed pods.
    reads_pods: bool,
    /// The classes of nodes that they tell apart together, by verb.
    pub(super) combined: Arc<[RecentCombined; Verb::ALL.len()]>,
}

/// One policy of a group: a loaded module with an operator's configuration.
pub struct Member {
    /// The name with its group, as [`Member::id_of`] makes it.
    pub id: Arc<str>,
    /// The file's name without its ending, as it stands before each reason.
    pub name: Arc<str>,
    /// The group it belongs to; empty for the root.
    pub group: Arc<str>,
    /// The operator's configuration of the policy.
    pub config: PolicyConfig,
    /// The guest's settings as JSON; `null` if there are none.
    pub settings: Arc<str>,
    /// `sha256:…` of the module's file.
    pub digest: Box<str>,
    /// Bytes of the module's file.
    pub size: u64,
    /// Counts the version of this policy since the start, from 1; 0: it stands in for a version that is not loaded.
    pub version: u64,
    /// The loaded module.
    pub policy: Arc<dyn Policy>,
    /// Its faults in a row, for each verb.
    pub circuit: Circuit,
    /// Its calls so far.
    pub calls: Calls,
    /// The answers that it has given so far.
    pub cache: DecisionCache,
    /// The keys by which it has read the whole cluster.
    pub shapes: Arc<ShapeLimit>,
    /// The sources of facts that it may read.
    pub fact_access: Arc<FactAccess>,
    /// The sources of facts that come with its files.
    pub sidecar_facts: SidecarFacts,
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

    /// The group with this name, and the name.
    pub(crate) fn named(&self, name: &str) -> Option<(&Arc<str>, &Group)> {
        self.groups.get_key_value(name)
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
        self.members().map(|member| member.cache.bytes()).sum()
    }

    /// Empties the largest caches where all together take more than this many bytes.
    pub(crate) fn keep_cached_within(&self, max_bytes: usize) {
        let caches: Vec<&dyn Evict> = self.members().flat_map(|member| member.cache.caches()).collect();
        evict_to(&caches, max_bytes);
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

// === impl Group ===

impl Group {
    /// A group of these policies, in order.
    pub fn new(mut members: Vec<Arc<Member>>) -> Self {
        members.sort_by(|a, b| (a.config.order, &a.name).cmp(&(b.config.order, &b.name)));
        let reads_pods = members.iter().any(|member| member.reads_pods());
        Self { members: members.into(), reads_pods, combined: Arc::default() }
    }

    /// Whether a filter that is in force may read placed pods.
    pub(crate) const fn reads_pods(&self) -> bool {
        self.reads_pods
    }

    /// Whether a filter that is in force may read the time.
    pub(crate) fn reads_time(&self) -> bool {
        self.members.iter().any(|member| member.config.mode == Mode::Enforce && member.policy.reads().reads_time())
    }

    /// Whether kube-scheduler may ask for scores.
    pub(crate) fn has_scores(&self) -> bool {
        self.members.iter().any(|member| {
            let verbs = member.policy.verbs();
            member.config.mode != Mode::Off && (verbs.has(Verb::Score) || verbs.has(Verb::Rank))
        })
    }

    /// All policies, in the order in which filters run.
    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// Those that are asked this verb about the pod in this mode, in order.
    pub fn answering(
        &self,
        mode: Mode,
        verb: Verb,
        pod: &Pod,
        cluster: Option<&Cluster>,
    ) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().filter(move |member| member.answers(mode, verb, pod, cluster))
    }
}

// === impl Member ===

impl Member {
    /// The first version of a policy, without settings; its module has neither digest nor size.
    pub fn new(
        group: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        config: PolicyConfig,
        policy: Arc<dyn Policy>,
    ) -> Self {
        let (group, name) = (group.into(), name.into());
        let cache = if policy.program().is_some() { DecisionCache::off() } else { DecisionCache::default() };
        Self {
            id: Self::id_of(&group, &name),
            name,
            group,
            config,
            settings: Arc::from("null"),
            digest: Box::default(),
            size: 0,
            version: 1,
            policy,
            circuit: Circuit::default(),
            calls: Calls::default(),
            cache,
            shapes: Arc::default(),
            fact_access: Arc::default(),
            sidecar_facts: Arc::default(),
        }
    }

    /// A name with its group: `gpu/binpack`. A policy of the root has its name alone.
    pub fn id_of(group: &str, name: &str) -> Arc<str> {
        if group.is_empty() { Arc::from(name) } else { Arc::from(format!("{group}/{name}")) }
    }

    /// The name with its group: `gpu/binpack`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The view that this policy has of a request as it is asked a verb.
    pub(crate) fn view_of(&self, request: View, verb: Verb) -> View {
        let access = Arc::clone(&self.fact_access);
        let view = request.with_settings(Arc::clone(&self.settings)).with_shapes(&self.shapes).with_fact_access(access);
        view.with_counts(self.config.counts || verb != Verb::Filter)
    }

    /// The sources of the gateway that it may read: its name for each, and the name among all facts.
    pub fn gateway_sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_of_sidecar = |global: &str| self.sidecar_facts.iter().any(|(name, _)| **name == *global);
        self.fact_access.names().filter(move |(_, global)| !is_of_sidecar(global))
    }

    /// Whether it is no loaded module: it answers by a fault until one is loaded.
    pub fn is_stand_in(&self) -> bool {
        self.version == 0
    }

    /// Whether it has a filter in force that may read values that change when a pod is bound: the pods on nodes, their
    /// requests, counts of the cluster.
    pub fn reads_pods(&self) -> bool {
        self.config.mode == Mode::Enforce && self.policy.verbs().has(Verb::Filter) && self.may_count()
    }

    /// Whether it may make such a read, and its sidecar allows it to the filter.
    pub fn may_count(&self) -> bool {
        self.config.counts && self.policy.reads().counts_pods()
    }

    /// Whether it is asked this verb about the pod in this mode.
    pub fn answers(&self, mode: Mode, verb: Verb, pod: &Pod, cluster: Option<&Cluster>) -> bool {
        let namespace = || cluster.and_then(|cluster| cluster.namespace(pod.namespace()));
        self.config.mode == mode && self.policy.verbs().has(verb) && self.config.matches.accepts(pod, namespace())
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("id", &self.id).field("digest", &self.digest).finish_non_exhaustive()
    }
}
