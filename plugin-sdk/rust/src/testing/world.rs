//! The world of a native test: a pod to schedule, the nodes, and the pods placed on them.

use std::collections::BTreeMap;

use plimsoll_cases::{ProposedVictims, WorldError};
use plimsoll_core::{BindAnswer, Preemption as CorePreemption, VerbAnswer, Verdict as CoreVerdict, View};

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

    /// Adds a `DeviceClass` that provides a resource where a node has none.
    #[must_use]
    pub fn device_class(mut self, name: &str, resource: &str) -> Self {
        let spec = serde_json::json!({"extendedResourceName": resource});
        self.0.device_classes.push(serde_json::json!({"metadata": {"name": name}, "spec": spec}));
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
    /// If there is no such node, the world is invalid (see [`World::view`]), or the gateway would end the call as a fault
    /// because of the answer.
    pub fn filter(&self, policy: &impl Filter, node: &str) -> Verdict {
        let verdict = self.about(node, |pod, node| policy.filter(pod, node));
        check(&CoreVerdict::from(verdict.clone()));
        verdict
    }

    /// Asks for the score of one node.
    ///
    /// # Panics
    /// As [`World::filter`].
    pub fn score(&self, policy: &impl Score, node: &str) -> u32 {
        let score = self.about(node, |pod, node| policy.score(pod, node));
        check(&score);
        score
    }

    /// Asks for the metadata that the pod gets as it is bound to a node.
    ///
    /// # Errors
    /// Those of the policy.
    ///
    /// # Panics
    /// As [`World::filter`].
    pub fn bind(&self, policy: &impl Bind, node: &str) -> Result<BindMetadata, NotBound> {
        let answer = self.about(node, |pod, node| policy.bind(pod, node));
        let checked: BindAnswer = answer.clone().map(Into::into).map_err(Into::into);
        check(&checked);
        answer
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
        scores.iter().for_each(check);
        nodes.iter().map(|node| node.name().to_owned()).zip(scores).collect()
    }

    /// Asks about the candidate on a node.
    ///
    /// # Panics
    /// If there is no such candidate; otherwise as [`World::filter`].
    pub fn preempt(&self, policy: &impl Preempt, node: &str) -> Preemption {
        let view = expect(self.preempt_view());
        let _clock = Clock::of(&view);
        let host = HostCalls::new(&view);
        let candidate = self.0.candidates.iter().position(|candidate| candidate.node == node);
        let candidate = expect(candidate.ok_or_else(|| no_node("the test", node)));
        let decision = policy.preempt(&Pod::new(host), &Candidate::new(host, candidate as u32));
        check(&CorePreemption::from(decision.clone()));
        decision
    }

    /// The host's view, for all verbs but `preempt`.
    ///
    /// # Errors
    /// If an object is malformed, or names an object that is not there.
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

/// An answer that the gateway would end as a fault fails the test.
#[track_caller]
fn check(answer: &impl VerbAnswer) {
    if let Some(breach) = answer.breach() {
        panic!("the gateway would end this call as a fault: {breach}");
    }
}

/// A test that cannot be run fails.
#[track_caller]
fn expect<T>(world: Result<T, WorldError>) -> T {
    world.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::testing::{node, pod};

    struct Gives<A>(A);

    impl Bind for Gives<BindMetadata> {
        fn bind(&self, _: &Pod, _: &Node) -> Result<BindMetadata, NotBound> {
            Ok(self.0.clone())
        }
    }

    impl Filter for Gives<usize> {
        fn filter(&self, _: &Pod, _: &Node) -> Verdict {
            Verdict::unschedulable("x".repeat(self.0))
        }
    }

    impl Score for Gives<u32> {
        fn score(&self, _: &Pod, _: &Node) -> u32 {
            self.0
        }
    }

    fn failure<A>(ask: impl FnOnce(&World) -> A) -> Option<String> {
        let world = World::new(pod("p")).node(node("n"));
        let failure = catch_unwind(AssertUnwindSafe(|| ask(&world))).err()?;
        Some(failure.downcast_ref::<String>().unwrap().clone())
    }

    #[test]
    fn an_answer_that_is_a_fault_in_the_gateway_fails_the_test() {
        let bind = |metadata| failure(|world| world.bind(&Gives(metadata), "n"));
        let table = [
            (bind(BindMetadata::new().label("a b", "1")), "the label key 'a b': its name must have"),
            (bind(BindMetadata::new().label("a", "ä")), "the value 'ä' of the label a: it must be"),
            (bind(BindMetadata::new().annotation("k8s.io/a", "1")), "kubernetes.io and k8s.io are Kubernetes' own"),
            (failure(|world| world.filter(&Gives(1025_usize), "n")), "1025 bytes"),
            (failure(|world| world.score(&Gives(101_u32), "n")), "a score of 101"),
        ];
        for (failure, expected) in table {
            let failure = failure.unwrap();
            assert!(failure.starts_with("the gateway would end this call as a fault: "), "{failure}");
            assert!(failure.contains(expected), "{failure}");
        }
        let fine = BindMetadata::new().label("example.com/rack", "r1").annotation("note", "any text");
        assert_eq!(failure(|world| world.bind(&Gives(fine), "n")), None);
    }

    #[test]
    fn what_is_free_is_a_number_or_the_reason_why_nobody_knows_it() {
        struct Free;
        impl Filter for Free {
            fn filter(&self, _: &Pod, node: &Node) -> Verdict {
                Verdict::unschedulable(node.free("x/gpu").map_or_else(str::to_owned, |free| free.to_string()))
            }
        }
        let placed = || pod("a").on("plugin").request("x/gpu", "3");
        let world =
            World::new(pod("p")).node(node("plugin").allocatable("x/gpu", "8")).node(node("dra")).placed(placed());
        let devices = "DRA provides the resource on the node, and a policy cannot count its devices";
        assert_eq!(world.filter(&Free, "dra"), Verdict::unschedulable("0"));
        let world = world.device_class("gpu", "x/gpu");
        assert_eq!(world.filter(&Free, "dra"), Verdict::unschedulable(devices));
        assert_eq!(world.filter(&Free, "plugin"), Verdict::unschedulable("5"));
    }
}
