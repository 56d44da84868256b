//! What a case expects of a policy, and how an answer differs from it.

use std::{collections::BTreeMap, fmt::Debug};

use plimsoll_core::{Annotation, NodeRead, PlacedRead, Preemption, Read, Value, Verdict, View};
use serde::Deserialize;

/// The answers that a case expects: for each verb named, one for every node.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The settings are refused with this text; nothing else is asked then.
    pub refused: Option<String>,
    /// By node.
    pub filter: Option<BTreeMap<String, ExpectedVerdict>>,
    /// By node.
    pub score: Option<BTreeMap<String, u32>>,
    /// By node.
    pub rank: Option<BTreeMap<String, u32>>,
    /// By the candidate's node.
    pub preempt: Option<BTreeMap<String, ExpectedPreemption>>,
    /// By node.
    pub bind: Option<BTreeMap<String, ExpectedBinding>>,
}

/// `fits`, or the reason why not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedVerdict {
    /// The pod may run there.
    Fits,
    /// Not now.
    Unschedulable(String),
    /// Not, whatever is evicted.
    Unresolvable(String),
}

/// What becomes of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedPreemption {
    /// It stays as it is.
    Keep,
    /// It is dropped for this reason.
    Reject(String),
    /// It has other victims: `namespace/name`.
    Replace(Vec<String>),
}

/// What a pod gets on a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpectedBinding {
    /// These annotations, by key.
    Annotations(BTreeMap<String, String>),
    /// It cannot be bound there, for this reason.
    Refused(String),
}

/// Lists how answers, one for each node of the view, differ from those expected.
pub(super) fn compare<E: PartialEq + Debug>(
    verb: &str,
    view: &View,
    expected: &BTreeMap<String, E>,
    answers: Vec<E>,
) -> Vec<String> {
    let names: Vec<&str> =
        (0..view.node_count() as u32).map(|node| text(view, Read::Node(node, NodeRead::Name))).collect();
    let mut differences = vec![];
    if answers.len() != names.len() {
        differences.push(format!("{verb}: {} answers for {} nodes", answers.len(), names.len()));
    }
    for name in expected.keys().filter(|name| !names.contains(&name.as_str())) {
        differences.push(format!("{verb}: {name} is expected, but there is no such node"));
    }
    for (name, answer) in names.iter().zip(answers) {
        match expected.get(*name) {
            Some(expected) if *expected == answer => {}
            Some(expected) => differences.push(format!("{verb}: {name}: expected {expected:?}, was {answer:?}")),
            None => differences.push(format!("{verb}: {name}: nothing is expected, was {answer:?}")),
        }
    }
    differences
}

/// `namespace/name` of the pods that a preemption names.
pub(super) fn preemption(view: &View, node: u32, answer: Preemption) -> ExpectedPreemption {
    let name = |pod: u32| {
        let read = |read| text(view, Read::Placed(node, pod, read));
        format!("{}/{}", read(PlacedRead::Namespace), read(PlacedRead::Name))
    };
    match answer {
        Preemption::Keep => ExpectedPreemption::Keep,
        Preemption::Reject(reason) => ExpectedPreemption::Reject(reason.into()),
        Preemption::Replace(victims) => ExpectedPreemption::Replace(victims.into_iter().map(name).collect()),
    }
}

fn text<'v>(view: &'v View, read: Read<'_>) -> &'v str {
    match view.read(read) {
        Ok(Value::Text(std::borrow::Cow::Borrowed(text))) => text,
        _ => "?",
    }
}

impl From<Result<Vec<Annotation>, String>> for ExpectedBinding {
    fn from(answer: Result<Vec<Annotation>, String>) -> Self {
        let entry = |annotation: Annotation| (annotation.key.into(), annotation.value.into());
        match answer {
            Ok(annotations) => Self::Annotations(annotations.into_iter().map(entry).collect()),
            Err(reason) => Self::Refused(reason),
        }
    }
}

impl From<Verdict> for ExpectedVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Fits => Self::Fits,
            Verdict::Unschedulable(reason) => Self::Unschedulable(reason.into()),
            Verdict::Unresolvable(reason) => Self::Unresolvable(reason.into()),
        }
    }
}
