//! One policy with its configuration, its circuit and its cached answers.

use std::{fmt, sync::Arc};

use crate::{
    cache::DecisionCache,
    decide::Circuit,
    model::{FactAccess, Mode, Pod, Policy, PolicyConfig, SidecarFacts, Verb, View, tally::ShapeLimit},
};

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
    /// The answers that it has given so far.
    pub cache: DecisionCache,
    /// The keys by which it has read the whole cluster.
    pub shapes: Arc<ShapeLimit>,
    /// The sources of facts that it may read.
    pub fact_access: Arc<FactAccess>,
    /// The sources of facts that come with its files.
    pub sidecar_facts: SidecarFacts,
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

    /// Whether its module imports such a read, and its sidecar allows it to the filter.
    pub fn may_count(&self) -> bool {
        self.config.counts && self.policy.may_read_pods()
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
