//! Policies as little read-programs: functions of their reads, and of nothing else.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use plimsoll_random::Random;

use super::super::fixture::*;
use crate::model::{
    Ask, Fault, FaultKind, NodeRead, NodeSource, PlacedRead, PodRead, Policy, Read, Verb, Verbs, Verdict, View,
};

/// A policy.
#[derive(Debug, Clone)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// Whether an instance reads of the pod once the values that it needs for many nodes.
    caches: bool,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Read(Of),
    /// Leaves steps out if the value read so far is divisible.
    Skip(u64, usize),
    /// Fails if the value read so far is divisible.
    Fail(u64),
    /// Reads labels until the value read is divisible.
    Labels(u64),
    EachPlaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Pod(u64),
    Now(u32),
    Node(u64),
    /// The label that the pod names.
    Named,
    Settings,
    NextNode,
    NodeCount,
}

/// One instance: it knows the values that it has read of the pod from then on.
struct Instance<'p> {
    program: &'p Program,
    cache: BTreeMap<Of, u64>,
}

// === impl Program ===

impl Program {
    pub(super) fn any(rng: &mut Random) -> Self {
        let steps = (0..rng.below(8)).map(|_| Step::any(rng)).collect();
        Self { steps, caches: rng.below(2) == 0 }
    }

    pub(super) fn without_faults(mut self) -> Self {
        self.steps.retain(|step| !matches!(step, Step::Fail(_)));
        self
    }

    /// The answer of a fresh instance about one node.
    pub(super) fn evaluate(&self, view: &View, node: u32) -> Result<u64, Fault> {
        self.instance().evaluate(view, node)
    }

    fn instance(&self) -> Instance<'_> {
        Instance { program: self, cache: BTreeMap::new() }
    }
}

pub(super) fn verdict(answer: u64) -> Verdict {
    match answer % 4 {
        0 | 1 => Verdict::Fits,
        2 => unschedulable(&format!("r{}", answer % 5)),
        _ => unresolvable(&format!("r{}", answer % 7)),
    }
}

pub(super) fn score(answer: u64) -> u32 {
    (answer % 101) as u32
}

impl Step {
    fn any(rng: &mut Random) -> Self {
        match rng.below(40) {
            0..=11 => Self::Read(Of::Node(rng.below(17))),
            12..=19 => Self::Read(Of::Pod(rng.below(12))),
            20..=21 => Self::Read(Of::Named),
            22 => Self::Read(Of::Now(rng.pick(&[0, 1, 60]))),
            23 => Self::Read(Of::Settings),
            24 => Self::Read(rng.pick(&[Of::NextNode, Of::NodeCount])),
            25..=33 => Self::Skip(rng.pick(&[2, 3]), 1 + rng.below(3) as usize),
            34 => Self::Fail(rng.pick(&[11, 31])),
            35..=37 => Self::EachPlaced,
            _ => Self::Labels(rng.pick(&[3, 7, 40])),
        }
    }
}

// === impl Instance ===

impl Instance<'_> {
    fn evaluate(&mut self, view: &View, node: u32) -> Result<u64, Fault> {
        let mut read = 1;
        let mut steps = self.program.steps.iter();
        while let Some(step) = steps.next() {
            match *step {
                Step::Read(of) => self.read(view, node, of, &mut read),
                Step::Skip(by, count) if read % by == 0 => drop(steps.nth(count - 1)),
                Step::Fail(by) if read % by == 0 => return Err(Fault::new(FaultKind::Trap, "it fails")),
                Step::Skip(..) | Step::Fail(_) => {}
                Step::EachPlaced => each_placed(view, node, &mut read),
                Step::Labels(by) => {
                    (0..20).take_while(|at| !label(view, node, *at, &mut read).is_multiple_of(by)).for_each(drop);
                }
            }
        }
        Ok(read)
    }

    fn read(&mut self, view: &View, node: u32, of: Of, read: &mut u64) {
        let is_of_pod = matches!(of, Of::Pod(_) | Of::Now(_));
        if let Some(known) = self.cache.get(&of) {
            return mix(read, *known);
        }
        let value = value(view, node, of);
        if is_of_pod && self.program.caches {
            self.cache.insert(of, value);
        }
        mix(read, value);
    }
}

fn each_placed(view: &View, node: u32, read: &mut u64) {
    let placed = number(view, Read::PlacedCount(node));
    mix(read, placed);
    for pod in 0..placed as u32 {
        mix(read, hash(view, Read::Placed(node, pod, PlacedRead::Label("app"))));
        mix(read, hash(view, Read::Placed(node, pod, PlacedRead::Priority)));
        // Which of these is read follows from the value before.
        let other = [PlacedRead::PriorityClass, PlacedRead::Controller, PlacedRead::Phase, PlacedRead::Terminating];
        mix(read, hash(view, Read::Placed(node, pod, other[(*read % 4) as usize])));
    }
}

fn label(view: &View, node: u32, at: u32, read: &mut u64) -> u64 {
    mix(read, hash(view, Read::Node(node, NodeRead::Label(&format!("l{at}")))));
    *read
}

fn value(view: &View, node: u32, of: Of) -> u64 {
    let read = match of {
        Of::Pod(which) => Read::Pod(match which {
            0 => PodRead::Label("a"),
            1 => PodRead::Label("b"),
            2 => PodRead::Annotation("note"),
            3 => PodRead::Priority,
            4 => PodRead::Request("cpu"),
            5 => PodRead::Namespace,
            6 => PodRead::Images,
            7 => PodRead::Field("/spec/priority"),
            8 => PodRead::PriorityClass,
            9 => PodRead::Controller,
            10 => PodRead::Created,
            _ => PodRead::Name,
        }),
        Of::Now(granularity) => Read::HostNow(granularity),
        Of::Settings => Read::HostSettings,
        Of::NodeCount => Read::NodesCount,
        Of::NextNode => {
            let nodes = number(view, Read::NodesCount) as u32;
            Read::Node((node + 1) % nodes, NodeRead::Label("zone"))
        }
        Of::Named => {
            let name = match view.read(Read::Pod(PodRead::Label("a"))) {
                Ok(crate::model::Value::Text(name)) => name.into_owned(),
                _ => "zone".to_owned(),
            };
            return hash(view, Read::Node(node, NodeRead::Label(&name)));
        }
        Of::Node(which) => match which {
            0 => Read::Node(node, NodeRead::Label("zone")),
            1 => Read::Node(node, NodeRead::Label("l1")),
            2 => Read::Node(node, NodeRead::Annotation("note")),
            3 => Read::Node(node, NodeRead::Taints),
            4 => Read::Node(node, NodeRead::Allocatable("cpu")),
            5 => Read::Node(node, NodeRead::Requested("cpu")),
            6 => Read::Node(node, NodeRead::ImageSize("app")),
            7 => Read::Node(node, NodeRead::Field("/spec/unschedulable")),
            8 => Read::Node(node, NodeRead::Name),
            9 => Read::PlacedCount(node),
            10 => Read::PlacedKnown(node),
            11 => Read::Node(node, NodeRead::Capacity("cpu")),
            12 => Read::Node(node, NodeRead::Condition("Ready")),
            13 => Read::Node(node, NodeRead::Unschedulable),
            14 => Read::Node(node, NodeRead::ResourceKnown("x/gpu")),
            15 => Read::PlacedCountActive { node, namespace: "web", key: "app", value: "web" },
            _ => Read::PlacedCountLabelled { node, namespace: "web", key: "app", value: "web" },
        },
    };
    hash(view, read)
}

fn number(view: &View, read: Read<'_>) -> u64 {
    match view.read(read) {
        Ok(crate::model::Value::Number(number)) => number as u64,
        other => panic!("{other:?}"),
    }
}

fn hash(view: &View, read: Read<'_>) -> u64 {
    let mut state = DefaultHasher::new();
    format!("{:?}", view.read(read)).hash(&mut state);
    state.finish()
}

fn mix(read: &mut u64, value: u64) {
    *read = Random::new(*read ^ value.rotate_left(17)).next_u64();
}

// === Behind the port ===

impl Program {
    fn each<A>(&self, ask: &Ask, nodes: &mut dyn NodeSource<A>, answer: impl Fn(u64) -> A) -> Result<(), Fault> {
        let mut instance = self.instance();
        while let Some(node) = nodes.next() {
            nodes.answer(answer(instance.evaluate(&ask.view, node)?));
        }
        Ok(())
    }
}

impl Policy for Program {
    fn verbs(&self) -> Verbs {
        [Verb::Filter, Verb::Score].into_iter().collect()
    }

    fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
        self.each(ask, nodes, verdict)
    }

    fn score_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<u32>) -> Result<(), Fault> {
        self.each(ask, nodes, score)
    }
}
