//! The policies that are in force: an immutable table that a reload replaces as a whole.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{Circuit, Mode, Pod, Policy, PolicyConfig, Traces, Verb, trace::Joints};

/// One policy of a group: a loaded module with an operator's configuration.
pub struct Member {
    /// The name with its group, as [`Member::id_of`] makes it.
    pub id: Arc<str>,
    /// The file's name without its ending, as it stands before each reason.
    pub name: Arc<str>,
    /// The group it belongs to; empty for the root.
    pub group: Arc<str>,
    /// What the operator said.
    pub config: PolicyConfig,
    /// The guest's own settings as JSON; `null` if there are none.
    pub settings: Arc<str>,
    /// `sha256:…` of the module's file.
    pub digest: Box<str>,
    /// Bytes of the module's file.
    pub size: u64,
    /// Counts the version of this policy since the start, from 1.
    pub version: u64,
    /// The loaded module.
    pub policy: Arc<dyn Policy>,
    /// Its faults in a row.
    pub circuit: Circuit,
    /// What it has answered so far.
    pub traces: Traces,
}

/// The policies behind one URL, in the order in which filters run.
#[derive(Debug, Default, Clone)]
pub struct Group {
    /// Shared, so that a request takes the whole group without a copy.
    members: Arc<[Arc<Member>]>,
    /// What they say together.
    joints: Arc<[Joints; Verb::ALL.len()]>,
}

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

/// Every group by name; the root's name is empty.
#[derive(Debug, Default, Clone)]
pub struct Roster {
    groups: BTreeMap<Arc<str>, Group>,
    failures: Vec<Failure>,
}

// === impl Member ===

impl Member {
    /// A name with its group: `gpu/binpack`. A policy of the root has its name alone.
    pub fn id_of(group: &str, name: &str) -> Arc<str> {
        if group.is_empty() { Arc::from(name) } else { Arc::from(format!("{group}/{name}")) }
    }

    /// The name with its group: `gpu/binpack`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it is asked this verb about the pod in this mode.
    pub fn answers(&self, mode: Mode, verb: Verb, pod: &Pod) -> bool {
        self.config.mode == mode && self.policy.verbs().has(verb) && self.config.matches.accepts(pod)
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("id", &self.id).field("digest", &self.digest).finish_non_exhaustive()
    }
}

// === impl Group ===

impl Group {
    /// A group of these policies, in order.
    pub fn new(mut members: Vec<Arc<Member>>) -> Self {
        members.sort_by(|a, b| (a.config.order, &a.name).cmp(&(b.config.order, &b.name)));
        Self { members: members.into(), joints: Arc::default() }
    }

    /// All policies, in the order in which filters run.
    pub fn members(&self) -> &[Arc<Member>] {
        &self.members
    }

    /// The kinds of nodes that its policies tell apart together when they are asked a verb.
    pub(crate) fn joints(&self, verb: Verb) -> &Joints {
        &self.joints[verb as usize]
    }

    /// Lets go of what [`Group::joints`] has put together.
    pub(crate) fn forget_joints(&self) {
        self.joints.iter().for_each(Joints::forget);
    }

    /// Those that are asked this verb about the pod in this mode, in order.
    pub fn answering(&self, mode: Mode, verb: Verb, pod: &Pod) -> impl Iterator<Item = &Arc<Member>> {
        self.members.iter().filter(move |member| member.answers(mode, verb, pod))
    }
}

// === impl Roster ===

impl Roster {
    /// A table of these groups, and of what could not be loaded.
    pub fn new(groups: BTreeMap<Arc<str>, Group>, failures: Vec<Failure>) -> Self {
        Self { groups, failures }
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

    /// Bytes of all that is remembered of the policies' answers.
    pub(crate) fn remembered_bytes(&self) -> usize {
        let traces: usize = self.members().map(|member| member.traces.bytes()).sum();
        let joints: usize = self.groups.values().flat_map(|group| group.joints.iter()).map(Joints::bytes).sum();
        traces + joints
    }

    /// What could not be loaded as its files stand now.
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }
}
