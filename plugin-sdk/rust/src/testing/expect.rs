//! The answers that a case expects, and how an answer differs from them.

use std::{collections::BTreeMap, fmt};

use plimsoll_core::{Annotation, NodeRead, PlacedRead, Preemption, Read, Value, Verdict, View};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value as Json;

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
#[serde(remote = "Self", rename_all = "lowercase")]
pub enum ExpectedVerdict {
    /// The pod may run there.
    Fits,
    /// Not now.
    Unschedulable(String),
    /// Not, whatever is evicted.
    Unresolvable(String),
}

/// The expected answer about a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "lowercase")]
pub enum ExpectedPreemption {
    /// It stays as it is.
    Keep,
    /// It is dropped for this reason.
    Reject(String),
    /// It has other victims: `namespace/name`.
    Replace(Vec<String>),
}

/// The expected answer of a bind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(remote = "Self", rename_all = "lowercase")]
pub enum ExpectedBinding {
    /// These annotations, by key.
    Annotations(BTreeMap<String, String>),
    /// It cannot be bound there, for this reason.
    Refused(String),
}

/// An error about an expectation says what may stand there, and what does.
macro_rules! expectation {
    ($type:ty: $expected:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let written = Json::deserialize(deserializer)?;
                <$type>::deserialize(&written).map_err(|_| D::Error::custom(unlike($expected, &written)))
            }
        }
    };
}

expectation!(ExpectedVerdict: "`fits`, `{unschedulable: the reason}` or `{unresolvable: the reason}`");
expectation!(ExpectedPreemption: "`keep`, `{reject: the reason}` or `{replace: [namespace/name]}`");
expectation!(ExpectedBinding: "`{annotations: {KEY: \"VALUE\"}}` or `{refused: the reason}`");

fn unlike(expected: &str, written: &Json) -> String {
    let keys: Vec<&String> = written.as_object().into_iter().flatten().map(|(key, _)| key).collect();
    match (written, keys.as_slice()) {
        (Json::String(word), _) => format!("expected {expected}, found `{word}`"),
        (_, [word]) => format!("expected {expected}, found `{word}:` with something else"),
        _ => format!("expected {expected}, and one of them alone"),
    }
}

/// As a case writes it.
impl fmt::Display for ExpectedVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits => f.write_str("fits"),
            Self::Unschedulable(reason) => write!(f, "{{unschedulable: {reason}}}"),
            Self::Unresolvable(reason) => write!(f, "{{unresolvable: {reason}}}"),
        }
    }
}

impl fmt::Display for ExpectedPreemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::Reject(reason) => write!(f, "{{reject: {reason}}}"),
            Self::Replace(victims) => write!(f, "{{replace: [{}]}}", victims.join(", ")),
        }
    }
}

impl fmt::Display for ExpectedBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Annotations(annotations) => {
                let pairs: Vec<String> = annotations.iter().map(|(key, value)| format!("{key}: {value:?}")).collect();
                write!(f, "{{annotations: {{{}}}}}", pairs.join(", "))
            }
            Self::Refused(reason) => write!(f, "{{refused: {reason}}}"),
        }
    }
}

/// Lists how answers, one for each node of the view, differ from those expected.
pub(super) fn compare<E: PartialEq + fmt::Display>(
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
            Some(expected) => differences.push(format!("{verb}: {name}: expected {expected}, was {answer}")),
            None => differences.push(format!("{verb}: {name}: nothing is expected, was {answer}")),
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
        Preemption::Reject(reason) => ExpectedPreemption::Reject(reason.to_string()),
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
            Verdict::Unschedulable(reason) => Self::Unschedulable(reason.to_string()),
            Verdict::Unresolvable(reason) => Self::Unresolvable(reason.to_string()),
        }
    }
}
