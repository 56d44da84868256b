//! The answers that a case expects.

mod difference;
mod lines;
mod yaml;

use std::{borrow::Cow, collections::BTreeMap, fmt};

use plimsoll_core::{BindAnswer, NotBound, PlacedRead, Preemption, Read, Value, Verb, Verdict, View};
use serde::Deserialize;

pub use self::difference::Difference;
pub(crate) use self::{lines::Lines, yaml::ExpectYaml};
use crate::scalar::{quoted, scalar};

/// The answers that a case expects: for each verb named, one for every node.
#[derive(Debug, Clone, Default)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpectedBinding {
    /// The pod gets this.
    Metadata {
        /// By key.
        annotations: BTreeMap<String, String>,
        /// By key.
        labels: BTreeMap<String, String>,
    },
    /// It is not bound there, for this reason.
    Refused(String),
    /// It is not bound there yet, for this reason.
    Retry(String),
}

// === impl Expectations ===

impl Expectations {
    /// The verbs that are asked.
    pub(crate) fn verbs(&self) -> Vec<Verb> {
        let all = [
            (Verb::Filter, self.filter.is_some()),
            (Verb::Score, self.score.is_some()),
            (Verb::Rank, self.rank.is_some()),
            (Verb::Preempt, self.preempt.is_some()),
            (Verb::Bind, self.bind.is_some()),
        ];
        all.into_iter().filter(|(_, is_expected)| *is_expected).map(|(verb, _)| verb).collect()
    }
}

// === impl ExpectedVerdict, ExpectedPreemption, ExpectedBinding ===

/// As a case writes it.
impl fmt::Display for ExpectedVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits => f.write_str("fits"),
            Self::Unschedulable(reason) => write!(f, "{{unschedulable: {}}}", scalar(reason)),
            Self::Unresolvable(reason) => write!(f, "{{unresolvable: {}}}", scalar(reason)),
        }
    }
}

impl fmt::Display for ExpectedPreemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("keep"),
            Self::Reject(reason) => write!(f, "{{reject: {}}}", scalar(reason)),
            Self::Replace(victims) => {
                let victims: Vec<Cow<'_, str>> = victims.iter().map(|victim| scalar(victim)).collect();
                write!(f, "{{replace: [{}]}}", victims.join(", "))
            }
        }
    }
}

impl fmt::Display for ExpectedBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metadata { annotations, labels } => {
                let pair = |(key, value): (&String, &String)| format!("{}: {}", scalar(key), quoted(value));
                let all = |name: &str, pairs: &BTreeMap<String, String>| {
                    format!("{name}: {{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
                };
                match (annotations.is_empty(), labels.is_empty()) {
                    (_, true) => write!(f, "{{{}}}", all("annotations", annotations)),
                    (true, false) => write!(f, "{{{}}}", all("labels", labels)),
                    (false, false) => write!(f, "{{{}, {}}}", all("annotations", annotations), all("labels", labels)),
                }
            }
            Self::Refused(reason) => write!(f, "{{refused: {}}}", scalar(reason)),
            Self::Retry(reason) => write!(f, "{{retry: {}}}", scalar(reason)),
        }
    }
}

/// `namespace/name` of the pods that a preemption names.
pub(crate) fn preemption(view: &View, node: u32, answer: Preemption) -> ExpectedPreemption {
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
        Ok(Value::Text(Cow::Borrowed(text))) => text,
        _ => "?",
    }
}

impl From<BindAnswer> for ExpectedBinding {
    fn from(answer: BindAnswer) -> Self {
        match answer {
            Ok(metadata) => Self::Metadata {
                annotations: metadata.annotations.into_iter().map(|own| (own.key.into(), own.value.into())).collect(),
                labels: metadata.labels.into_iter().map(|own| (own.key.into(), own.value.into())).collect(),
            },
            Err(NotBound::Refused(reason)) => Self::Refused(reason),
            Err(NotBound::Retry(reason)) => Self::Retry(reason),
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
