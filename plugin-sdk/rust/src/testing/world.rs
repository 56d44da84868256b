//! The world of a native test: a pod to schedule, the nodes, and the pods placed on them.

use std::collections::BTreeMap;

use plimsoll_cases::{ProposedVictims, WorldError};
use plimsoll_core::View;

use super::{NodeBuilder, PodBuilder};
use crate::{
    Bind, BindMetadata, Candidate, Filter, Node, Nodes, NotBound, Pod, Preempt, Preemption, Rank, Score, Verdict,
    native::{Clock, HostCalls},
};

/// The cluster and the pod of a test.
#[derive(Debug, Clone, Default)]
pub struct World(plimsoll_cases::World);

// === impl World ===

impl World {
    /// A world without nodes, in which this pod is to be scheduled.
    pub fn new(pod: PodBuilder) -> Self {
        Self(plimsoll_cases::World { pod: pod.0, ..plimsoll_cases::World::default() })
    }

    /// Adds a node.
    #[must_use]
    pub fn node(mut self, node: NodeBuilder) -> Self {
        self.0.nodes.push(node.0);
        self
    }

    /// Adds a pod that is placed [on](PodBuilder::on) a node.
    #[must_use]
    pub fn placed(mut self, pod: PodBuilder) -> Self {
        self.0.pods.push(pod.0);
        self
    }

    /// Adds a namespace with these labels. In a world without any the gateway knows of no namespace.
    #[must_use]
    pub fn namespace(mut self, name: &str, labels: &[(&str, &str)]) -> Self {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        self.0.namespaces.push(serde_json::json!({"metadata": {"name": name, "labels": labels}}));
        self
    }

    /// Adds a fact from outside: a text or a number under a key in a source. A fact about a node has its name as the key. The
    /// policy may read the sources that have a fact, and no others.
    #[must_use]
    pub fn fact(mut self, source: &str, key: &str, value: impl Into<serde_json::Value>) -> Self {
        if self.0.facts.is_null() {
            self.0.facts = serde_json::json!({});
        }
        self.0.facts[source][key] = value.into();
        self
    }

    /// Adds a preemption candidate; its victims are `namespace/name` of pods placed there.
    #[must_use]
    pub fn candidate(mut self, node: &str, victims: &[&str], pdb_violations: u32) -> Self {
        let victims = victims.iter().map(ToString::to_string).collect();
        self.0.candidates.push(ProposedVictims { node: node.to_owned(), victims, pdb_violations });
        self
    }

    /// Leaves the gateway without a view of the whole cluster: every read of a [`Cluster`](crate::Cluster) is none.
    /// Otherwise the cluster has the nodes and the placed pods of the world.
    #[must_use]
    pub fn without_cluster(mut self) -> Self {
        self.0.without_cluster = true;
        self
    }

    /// Sets the time, in Unix seconds.
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.0.now = now;
        self
    }

    /// Asks about one node.
    ///
    /// # Panics
    /// If there is no such node, or the world cannot be: see [`World::view`].
    pub fn filter(&self, policy: &impl Filter, node: &str) -> Verdict {
        self.about(node, |pod, node| policy.filter(pod, node))
    }

    /// Asks for the score of one node.
    ///
    /// # Panics
    /// As [`World::filter`].
    pub fn score(&self, policy: &impl Score, node: &str) -> u32 {
        self.about(node, |pod, node| policy.score(pod, node))
    }

    /// Asks for the metadata that the pod gets as it is bound to a node.
    ///
    /// # Errors
    /// The policy's own.
    ///
    /// # Panics
    /// As [`World::filter`].
    pub fn bind(&self, policy: &impl Bind, node: &str) -> Result<BindMetadata, NotBound> {
        self.about(node, |pod, node| policy.bind(pod, node))
    }

    /// Asks for the scores of all nodes; by their names.
    ///
    /// # Panics
    /// As [`World::filter`], and if the policy gives another number of scores.
    pub fn rank(&self, policy: &impl Rank) -> BTreeMap<String, u32> {
        let view = expect(self.view());
        let _clock = Clock::of(&view);
        let host = HostCalls::new(&view);
        let nodes = Nodes::new(host);
        let scores = policy.rank(&Pod::new(host), &nodes);
        assert_eq!(scores.len(), nodes.len(), "rank gives one score for each node");
        nodes.iter().map(|node| node.name().to_owned()).zip(scores).collect()
    }

    /// Asks about the candidate on a node.
    ///
    /// # Panics
    /// If there is no such candidate, or the world cannot be.
    pub fn preempt(&self, policy: &impl Preempt, node: &str) -> Preemption {
        let view = expect(self.preempt_view());
        let _clock = Clock::of(&view);
        let host = HostCalls::new(&view);
        let candidate = self.0.candidates.iter().position(|candidate| candidate.node == node);
        let candidate = expect(candidate.ok_or_else(|| no_node("the test", node)));
        policy.preempt(&Pod::new(host), &Candidate::new(host, candidate as u32))
    }

    /// The host's view, for all verbs but `preempt`.
    ///
    /// # Errors
    /// If an object is none, or names an object that is not there.
    pub fn view(&self) -> Result<View, WorldError> {
        self.0.view()
    }

    /// The same for `preempt`: the nodes are those of the candidates.
    ///
    /// # Errors
    /// As [`World::view`].
    pub fn preempt_view(&self) -> Result<View, WorldError> {
        self.0.preempt_view()
    }

    fn about<A>(&self, node: &str, ask: impl FnOnce(&Pod<'_>, &Node<'_>) -> A) -> A {
        let view = expect(self.view());
        let _clock = Clock::of(&view);
        let host = HostCalls::new(&view);
        let found = Nodes::new(host).iter().find(|own| own.name() == node);
        ask(&Pod::new(host), &expect(found.ok_or_else(|| no_node("the test", node))))
    }
}

/// The world of a [`Case`](super::Case), so that a test may ask it more.
impl From<plimsoll_cases::World> for World {
    fn from(world: plimsoll_cases::World) -> Self {
        Self(world)
    }
}

fn no_node(what: &str, node: &str) -> WorldError {
    WorldError::NoNode { what: what.to_owned(), node: node.to_owned() }
}

/// A test that cannot be run fails.
#[track_caller]
fn expect<T>(world: Result<T, WorldError>) -> T {
    world.unwrap_or_else(|error| panic!("{error}"))
}
