//! Random clusters, requests and rosters; everything in them is a table, so that a failing case shrinks.

use std::sync::Arc;

use proptest::{
    collection::{btree_set, vec},
    option,
    prelude::*,
    sample::{Index, select, subsequence},
    strategy::Union,
};
use serde_json::Value as Json;

use super::super::fixture::*;
use crate::{
    decide::{CandidateQuery, Member, Victims},
    model::{
        Cluster, Fault, FaultKind, MAX_SCORE, Mode, NodeRead, OnError, PolicyConfig, Preemption, Read, Value, Verb,
        Verdict, View,
    },
};

/// Nodes of a world are n0 to n7 at most.
pub(super) const NODES: usize = 8;

/// A cluster, and the questions about it.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) nodes: usize,
    /// Of each pod: its node, priority and CPUs.
    pods: Vec<(usize, i32, i64)>,
    /// Nodes in the order of the request; above the last there are names that nobody knows.
    pub(super) request: Vec<usize>,
    /// Of each preemption candidate: its node, and which of the node's pods are its victims.
    candidates: Vec<(usize, Vec<bool>)>,
}

/// One policy of a roster.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) order: i32,
    pub(super) mode: Mode,
    pub(super) weight: u32,
    pub(super) on_error: Option<OnError>,
    pub(super) matches: bool,
    pub(super) fault: Option<Breakage>,
    verbs: Vec<Verb>,
    verdicts: Vec<Rule>,
    pub(super) scores: Vec<u32>,
    replies: Vec<Reply>,
}

/// A failure of a policy.
#[derive(Debug, Clone, Copy)]
pub(super) enum Breakage {
    Fault(FaultKind),
    Short,
    Long,
    OutOfRange,
}

/// A filter's rule for one node.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Fits,
    Never(&'static str),
    Unresolvable(&'static str),
    /// At most this many CPUs may be requested there.
    AtMost(i64),
}

/// A preempt policy's reply about the candidate on one node.
#[derive(Debug, Clone)]
enum Reply {
    Keep,
    Reject,
    Replace(Vec<Index>),
}

// === Strategies ===

pub(super) fn any_world() -> impl Strategy<Value = World> {
    (1..=NODES).prop_flat_map(|nodes| {
        let pods = vec((0..nodes, -2..5i32, 1..4i64), 0..14);
        let request = btree_set(0..nodes + 2, 0..nodes + 2).prop_map(|set| set.into_iter().collect::<Vec<_>>());
        let candidates = vec((0..nodes, vec(any::<bool>(), 14)), 0..6);
        (Just(nodes), pods, request.prop_shuffle(), candidates).prop_map(|(nodes, pods, request, candidates)| World {
            nodes,
            pods,
            request,
            candidates,
        })
    })
}

pub(super) fn any_roster() -> impl Strategy<Value = Vec<Spec>> {
    vec(any_spec(), 0..5).prop_map(|mut specs| {
        for (at, spec) in specs.iter_mut().enumerate() {
            spec.name = format!("p{at}");
        }
        specs
    })
}

fn any_spec() -> impl Strategy<Value = Spec> {
    let said = (
        vec(any_rule(), NODES),
        vec(0..=MAX_SCORE, NODES),
        vec(any_reply(), NODES),
        subsequence(vec![Verb::Filter, Verb::Score, Verb::Rank, Verb::Preempt], 1..=4),
    );
    let configured = (
        -1..2i32,
        prop_oneof![6 => Just(Mode::Enforce), 1 => Just(Mode::Shadow), 1 => Just(Mode::Off)],
        0..4u32,
        option::of(select(&[OnError::Fail, OnError::Ignore][..])),
        prop::bool::weighted(0.85),
        option::weighted(0.2, any_breakage()),
    );
    (said, configured).prop_map(|((verdicts, scores, replies, verbs), configured)| {
        let (order, mode, weight, on_error, matches, fault) = configured;
        let name = String::new();
        Spec { name, order, mode, weight, on_error, matches, fault, verbs, verdicts, scores, replies }
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        4 => Just(Rule::Fits),
        1 => select(&["a", "b", ""][..]).prop_map(Rule::Never),
        1 => select(&["a", "\n"][..]).prop_map(Rule::Unresolvable),
        3 => (0..9i64).prop_map(Rule::AtMost),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        2 => Just(Reply::Keep),
        1 => Just(Reply::Reject),
        2 => vec(any::<Index>(), 1..4).prop_map(Reply::Replace),
    ]
}

fn any_breakage() -> impl Strategy<Value = Breakage> {
    let kinds = FaultKind::ALL.map(|kind| Just(Breakage::Fault(kind)).boxed());
    let others = [Breakage::Short, Breakage::Long, Breakage::OutOfRange].map(|breakage| Just(breakage).boxed());
    Union::new(kinds.into_iter().chain(others))
}

// === impl World ===

impl World {
    pub(super) fn cluster(&self) -> Arc<Cluster> {
        mk_cluster(&(0..self.nodes).map(json).collect::<Vec<_>>(), &self.placed())
    }

    fn placed(&self) -> Vec<Json> {
        let pod = |(at, (node, priority, cpu)): (usize, &(usize, i32, i64))| {
            mk_placed(&format!("u{at}"), &format!("n{node}"), *priority, &cpu.to_string())
        };
        self.pods.iter().enumerate().map(pod).collect()
    }

    /// The names of the request; a number past the nodes is a name that nobody knows.
    pub(super) fn names(&self) -> Vec<String> {
        self.request.iter().map(|node| format!("n{node}")).collect()
    }

    /// The same world, asked about nodes that it has.
    pub(super) fn with_known_names(mut self) -> Self {
        self.request.retain(|node| *node < self.nodes);
        self
    }

    /// The JSON of the nodes of the request.
    pub(super) fn objects(&self) -> Vec<bytes::Bytes> {
        self.request.iter().map(|node| bytes(&json(*node))).collect()
    }

    /// The candidates as kube-scheduler would send them: victims by descending priority.
    pub(super) fn candidates(&self, whole: bool) -> Vec<CandidateQuery<'static>> {
        let candidate = |(node, chosen): &(usize, Vec<bool>)| {
            let placed = self.pods.iter().enumerate().filter(|(_, pod)| pod.0 == *node);
            let mut victims: Vec<(usize, i32)> =
                placed.zip(chosen).filter(|(_, chosen)| **chosen).map(|((at, pod), _)| (at, pod.1)).collect();
            victims.sort_by_key(|(_, priority)| -priority);
            let pods = self.placed();
            let victims = victims.iter().map(|(at, _)| *at);
            let victims = if whole {
                Victims::Pods(victims.map(|at| bytes(&pods[at])).collect())
            } else {
                Victims::Uids(victims.map(|at| format!("u{at}").into()).collect())
            };
            CandidateQuery { node: format!("n{node}").into(), victims, pdb_violations: 0 }
        };
        self.candidates.iter().map(candidate).collect()
    }

    pub(super) fn fixture(&self, roster: &[Spec]) -> Fixture {
        Fixture::new(roster.iter().map(Spec::member).collect(), Some(self.cluster()))
    }
}

fn json(node: usize) -> Json {
    mk_node(&format!("n{node}"), &[("zone", if node.is_multiple_of(2) { "even" } else { "odd" })])
}

// === impl Spec ===

impl Spec {
    /// Whether its answers to this verb count in the decision.
    pub(super) fn counts(&self, verb: Verb) -> bool {
        let weighs = self.weight > 0 || !matches!(verb, Verb::Score | Verb::Rank);
        self.mode == Mode::Enforce && self.matches && self.verbs.contains(&verb) && weighs
    }

    /// Whether it fails and is left out for it.
    pub(super) fn is_left_out(&self, verb: Verb) -> bool {
        self.fault.is_some() && self.config().on_error(verb) == OnError::Ignore
    }

    /// Whether it fails, and the decision with it, once it is asked.
    pub(super) fn is_fatal(&self, verb: Verb) -> bool {
        self.counts(verb) && self.fault.is_some() && self.config().on_error(verb) == OnError::Fail
    }

    fn config(&self) -> PolicyConfig {
        let mut config = PolicyConfig {
            mode: self.mode,
            order: self.order,
            weight: self.weight,
            on_error: self.on_error,
            ..PolicyConfig::default()
        };
        config.matches.namespaces = (!self.matches).then(|| vec!["elsewhere".into()]);
        config
    }

    fn member(&self) -> Arc<Member> {
        let mut policy = FakePolicy::default();
        let fault = self.fault;
        for verb in &self.verbs {
            let spec = self.clone();
            policy = match verb {
                Verb::Filter => policy.filter(move |ask, nodes| {
                    let answers = nodes.iter().map(|node| spec.verdict(&ask.view, *node)).collect();
                    broken(fault, answers, unschedulable(&"x".repeat(2_000)))
                }),
                Verb::Score => policy.score(move |ask, nodes| {
                    broken(fault, nodes.iter().map(|node| spec.score(&ask.view, *node)).collect(), MAX_SCORE + 1)
                }),
                Verb::Rank => policy.rank(move |ask| {
                    let nodes = 0..ask.view.node_count() as u32;
                    broken(fault, nodes.map(|node| MAX_SCORE - spec.score(&ask.view, node)).collect(), u32::MAX)
                }),
                _ => policy.preempt(move |ask, candidates| {
                    let answers = candidates.iter().map(|at| spec.reply(&ask.view, *at)).collect();
                    broken(fault, answers, Preemption::Replace(vec![]))
                }),
            };
        }
        mk_member(&self.name, policy, |config| *config = self.config())
    }

    /// The verdict of its filter about a node of a view.
    pub(super) fn verdict(&self, view: &View, node: u32) -> Verdict {
        match self.verdicts[number(view, node)] {
            Rule::Fits => Verdict::Fits,
            Rule::Never(reason) => unschedulable(reason),
            Rule::Unresolvable(reason) => unresolvable(reason),
            Rule::AtMost(cpus) => match view.read(Read::Node(node, NodeRead::Requested("cpu"))) {
                Ok(Value::Number(requested)) if requested <= cpus * 1000 => Verdict::Fits,
                _ => unschedulable("full"),
            },
        }
    }

    fn score(&self, view: &View, node: u32) -> u32 {
        self.scores[number(view, node)]
    }

    fn reply(&self, view: &View, candidate: u32) -> Preemption {
        let placed = match view.read(Read::PlacedCount(candidate)) {
            Ok(Value::Number(placed)) => placed as usize,
            other => panic!("{other:?}"),
        };
        match &self.replies[number(view, candidate)] {
            Reply::Reject => Preemption::Reject("protected".into()),
            Reply::Replace(victims) if placed > 0 => {
                Preemption::Replace(victims.iter().map(|victim| victim.index(placed) as u32).collect())
            }
            _ => Preemption::Keep,
        }
    }
}

fn broken<T: Clone>(fault: Option<Breakage>, mut answers: Vec<T>, out_of_range: T) -> Answers<T> {
    match fault {
        None => {}
        Some(Breakage::Fault(kind)) => return Err(Fault::new(kind, "it fails")),
        Some(Breakage::Short) => drop(answers.pop()),
        Some(Breakage::Long) => answers.push(out_of_range),
        Some(Breakage::OutOfRange) => answers.iter_mut().for_each(|answer| *answer = out_of_range.clone()),
    }
    Ok(answers)
}

/// The number of a node, from its name.
fn number(view: &View, node: u32) -> usize {
    name_of(view, node)[1..].parse().unwrap()
}
