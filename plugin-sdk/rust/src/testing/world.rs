//! A pod to schedule, the nodes, and what is placed on them.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{Candidate as Proposal, Cluster, Node as CoreNode, ObjectError, Pod as CorePod, View};
use serde_json::Value;

use super::{NodeBuilder, PodBuilder};
use crate::{
    Annotation, Bind, Candidate, Filter, Node, Nodes, Pod, Preempt, Preemption, Rank, Score, Verdict,
    native::{Clock, Door},
};

/// The cluster and the pod of a test.
#[derive(Debug, Clone, Default)]
pub struct World {
    pub(super) pod: Value,
    pub(super) nodes: Vec<Value>,
    pub(super) pods: Vec<Value>,
    pub(super) candidates: Vec<Proposed>,
    pub(super) now: u64,
    pub(super) without_cluster: bool,
}

/// A preemption candidate, in words.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Proposed {
    pub(super) node: String,
    /// `namespace/name` of placed pods.
    pub(super) victims: Vec<String>,
    #[serde(default)]
    pdb_violations: u32,
}

/// Why a world cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A pod or node is none.
    #[error("{what}: {error}")]
    Object {
        /// Which one.
        what: String,
        /// The reason.
        error: ObjectError,
    },
    /// A pod is placed, or a candidate or expectation is, on a node that is not there.
    #[error("{what} names the node '{node}'; there is no such node")]
    NoNode {
        /// Who says so.
        what: String,
        /// The node.
        node: String,
    },
    /// A victim is not placed on the candidate's node.
    #[error("the candidate '{node}' names the victim '{victim}'; no such pod is placed there")]
    NoVictim {
        /// The candidate's node.
        node: String,
        /// `namespace/name`.
        victim: String,
    },
}

// === impl World ===

impl World {
    /// A world without nodes, in which this pod is to be scheduled.
    pub fn new(pod: PodBuilder) -> Self {
        Self { pod: pod.0, ..Self::default() }
    }

    /// Adds a node.
    #[must_use]
    pub fn node(mut self, node: NodeBuilder) -> Self {
        self.nodes.push(node.0);
        self
    }

    /// Adds a pod that is placed [on](PodBuilder::on) a node.
    #[must_use]
    pub fn placed(mut self, pod: PodBuilder) -> Self {
        self.pods.push(pod.0);
        self
    }

    /// Adds a preemption candidate; its victims are `namespace/name` of pods placed there.
    #[must_use]
    pub fn candidate(mut self, node: &str, victims: &[&str], pdb_violations: u32) -> Self {
        let victims = victims.iter().map(ToString::to_string).collect();
        self.candidates.push(Proposed { node: node.to_owned(), victims, pdb_violations });
        self
    }

    /// Leaves the gateway without a view of the whole cluster: every read of a [`Cluster`](crate::Cluster) is none.
    /// Otherwise the cluster has the nodes and the placed pods of the world.
    #[must_use]
    pub fn without_cluster(mut self) -> Self {
        self.without_cluster = true;
        self
    }

    /// Sets the time, in Unix seconds.
    #[must_use]
    pub fn at(mut self, now: u64) -> Self {
        self.now = now;
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

    /// Asks for the annotations of the pod's binding to a node.
    ///
    /// # Errors
    /// The policy's own.
    ///
    /// # Panics
    /// As [`World::filter`].
    pub fn bind(&self, policy: &impl Bind, node: &str) -> Result<Vec<Annotation>, String> {
        self.about(node, |pod, node| policy.bind(pod, node))
    }

    /// Asks for the scores of all nodes; by their names.
    ///
    /// # Panics
    /// As [`World::filter`], and if the policy gives another number of scores.
    pub fn rank(&self, policy: &impl Rank) -> BTreeMap<String, u32> {
        let view = expect(self.view());
        let _clock = Clock::of(&view);
        let door = Door::new(&view);
        let nodes = Nodes::new(door);
        let scores = policy.rank(&Pod::new(door), &nodes);
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
        let door = Door::new(&view);
        let candidate = self.candidates.iter().position(|candidate| candidate.node == node);
        let candidate = expect(candidate.ok_or_else(|| no_node("the test", node)));
        policy.preempt(&Pod::new(door), &Candidate::new(door, candidate as u32))
    }

    /// The host's view, for all verbs but `preempt`.
    ///
    /// # Errors
    /// If an object is none, or something names what is not there.
    pub fn view(&self) -> Result<View, WorldError> {
        let nodes = (0..self.nodes.len() as u32).collect();
        Ok(self.seeing(View::new(self.core_pod()?, self.cluster()?, nodes, self.now)))
    }

    /// The same for `preempt`: the nodes are those of the candidates.
    ///
    /// # Errors
    /// As [`World::view`].
    pub fn preempt_view(&self) -> Result<View, WorldError> {
        let cluster = self.cluster()?;
        let (mut slots, mut proposals) = (vec![], vec![]);
        for proposed in &self.candidates {
            let slot = cluster.find(&proposed.node).ok_or_else(|| no_node("a candidate", &proposed.node))?;
            proposals.push(proposed.resolve(&cluster, slot)?);
            slots.push(slot);
        }
        let view = View::new(self.core_pod()?, cluster, slots.into(), self.now);
        Ok(self.seeing(view).with_candidates(proposals.into()))
    }

    fn seeing(&self, view: View) -> View {
        if self.without_cluster { view.without_cluster() } else { view }
    }

    fn about<A>(&self, node: &str, ask: impl FnOnce(&Pod<'_>, &Node<'_>) -> A) -> A {
        let view = expect(self.view());
        let _clock = Clock::of(&view);
        let door = Door::new(&view);
        let found = Nodes::new(door).iter().find(|own| own.name() == node);
        ask(&Pod::new(door), &expect(found.ok_or_else(|| no_node("the test", node))))
    }

    fn core_pod(&self) -> Result<Arc<CorePod>, WorldError> {
        let pod = CorePod::from_json(self.pod.to_string().into());
        pod.map(Arc::new).map_err(|error| WorldError::Object { what: "pod".to_owned(), error })
    }

    fn cluster(&self) -> Result<Arc<Cluster>, WorldError> {
        let mut nodes = vec![];
        for (at, json) in self.nodes.iter().enumerate() {
            let node = CoreNode::from_json(Bytes::from(json.to_string()));
            nodes.push(node.map_err(|error| WorldError::Object { what: format!("nodes[{at}]"), error })?);
        }
        let mut pods = vec![];
        for (at, json) in self.pods.iter().enumerate() {
            let what = format!("pods[{at}]");
            let pod = CorePod::placed_from_json(json.to_string().as_bytes())
                .map_err(|error| WorldError::Object { what: what.clone(), error })?;
            let node = pod.node().unwrap_or_default();
            if !nodes.iter().any(|own| own.name().as_ref() == node) {
                return Err(WorldError::NoNode { what, node: node.to_owned() });
            }
            pods.push(pod);
        }
        Ok(Arc::new(Cluster::from_objects(nodes, pods)))
    }
}

// === impl Proposed ===

impl Proposed {
    fn resolve(&self, cluster: &Cluster, slot: u32) -> Result<Proposal, WorldError> {
        let placed = cluster.slots()[slot as usize].placed.as_ref();
        let pods = placed.map_or(&[][..], |placed| placed.pods());
        let find = |victim: &String| {
            let at = pods.iter().position(|pod| *victim == full_name(pod));
            at.map(|at| at as u32)
                .ok_or_else(|| WorldError::NoVictim { node: self.node.clone(), victim: victim.clone() })
        };
        let victims = self.victims.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Proposal { victims, pdb_violations: self.pdb_violations })
    }
}

/// `namespace/name`.
fn full_name(pod: &CorePod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}

fn no_node(what: &str, node: &str) -> WorldError {
    WorldError::NoNode { what: what.to_owned(), node: node.to_owned() }
}

/// A test that cannot be run fails.
#[track_caller]
fn expect<T>(world: Result<T, WorldError>) -> T {
    world.unwrap_or_else(|error| panic!("{error}"))
}
