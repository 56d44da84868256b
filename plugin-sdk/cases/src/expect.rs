//! The answers that a case expects, and how an answer differs from them.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use plimsoll_core::{BindAnswer, NotBound, PlacedRead, Preemption, Read, Value, Verb, Verdict, View};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value as Json;
use serde_saphyr::Spanned;

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

/// The lines of a file on which answers are expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    expectations: BTreeMap<(Verb, String), u64>,
    /// By the field, such as `nodes[2]`.
    objects: BTreeMap<String, u64>,
}

/// Expectations as they are written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectYaml {
    #[serde(default)]
    refused: Option<Spanned<String>>,
    #[serde(default)]
    filter: Option<ByNode<ExpectedVerdict>>,
    #[serde(default)]
    score: Option<ByNode<u32>>,
    #[serde(default)]
    rank: Option<ByNode<u32>>,
    #[serde(default)]
    preempt: Option<ByNode<ExpectedPreemption>>,
    #[serde(default)]
    bind: Option<ByNode<ExpectedBinding>>,
}

type ByNode<T> = BTreeMap<String, Spanned<T>>;

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

/// The same as it is written: annotations, labels or both, or else one of the reasons.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BindingYaml {
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
    refused: Option<String>,
    retry: Option<String>,
}

/// One answer that is not the expected one. The answers are written as a case writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The verb that was asked.
    pub verb: Verb,
    /// The node; none for the settings, and for a verb as a whole.
    pub node: Option<String>,
    /// The line of the file on which the answer is expected.
    pub line: Option<u64>,
    /// The expected answer; none if the case says nothing of the node.
    pub expected: Option<String>,
    /// The answer.
    pub answered: String,
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
expectation!(
    ExpectedBinding: "`{annotations: {KEY: \"VALUE\"}}`, `{labels: {KEY: \"VALUE\"}}` or both, `{refused: the reason}` or \
    `{retry: the reason}`"
);

fn unlike(expected: &str, written: &Json) -> String {
    let keys: Vec<&String> = written.as_object().into_iter().flatten().map(|(key, _)| key).collect();
    match (written, keys.as_slice()) {
        (Json::String(word), _) => format!("expected {expected}, found `{word}`"),
        (_, [word]) => format!("expected {expected}, found `{word}:` with something else"),
        _ => format!("expected {expected}, and one of them alone"),
    }
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

// === impl ExpectedBinding ===

impl ExpectedBinding {
    /// Reads what is written; `expectation!` says what may stand there.
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match BindingYaml::deserialize(deserializer)? {
            BindingYaml { annotations: None, labels: None, refused: Some(reason), retry: None } => {
                Ok(Self::Refused(reason))
            }
            BindingYaml { annotations: None, labels: None, refused: None, retry: Some(reason) } => {
                Ok(Self::Retry(reason))
            }
            BindingYaml { annotations, labels, refused: None, retry: None }
                if annotations.is_some() || labels.is_some() =>
            {
                let (annotations, labels) = (annotations.unwrap_or_default(), labels.unwrap_or_default());
                Ok(Self::Metadata { annotations, labels })
            }
            _ => Err(D::Error::custom("not one of these")),
        }
    }
}

// === impl ExpectYaml ===

impl ExpectYaml {
    pub(crate) fn resolve(self) -> (Expectations, Lines) {
        let mut lines = Lines::default();
        let expectations = Expectations {
            filter: lines.take(Verb::Filter, self.filter),
            score: lines.take(Verb::Score, self.score),
            rank: lines.take(Verb::Rank, self.rank),
            preempt: lines.take(Verb::Preempt, self.preempt),
            bind: lines.take(Verb::Bind, self.bind),
            refused: self.refused.map(|refused| {
                lines.note(Verb::Validate, String::new(), &refused);
                refused.value
            }),
        };
        (expectations, lines)
    }
}

// === impl Lines ===

impl Lines {
    /// The line of an expectation.
    pub(crate) fn of(&self, verb: Verb, node: &str) -> Option<u64> {
        self.expectations.get(&(verb, node.to_owned())).copied()
    }

    /// The line of a part of the world, such as `nodes[2]`.
    pub(crate) fn of_object(&self, field: &str) -> Option<u64> {
        self.objects.get(field).copied()
    }

    /// The values of a list, whose lines are kept.
    pub(crate) fn take_all<T>(&mut self, list: &str, values: Vec<Spanned<T>>) -> Vec<T> {
        let values = values.into_iter().enumerate();
        values.map(|(at, value)| self.take_one(format!("{list}[{at}]"), value)).collect()
    }

    /// A value, whose line is kept.
    pub(crate) fn take_one<T>(&mut self, field: String, value: Spanned<T>) -> T {
        if value.referenced.line() > 0 {
            self.objects.insert(field, value.referenced.line());
        }
        value.value
    }

    fn take<T>(&mut self, verb: Verb, by_node: Option<ByNode<T>>) -> Option<BTreeMap<String, T>> {
        let by_node = by_node?.into_iter();
        let unwrap = |(node, value): (String, Spanned<T>)| {
            self.note(verb, node.clone(), &value);
            (node, value.value)
        };
        Some(by_node.map(unwrap).collect())
    }

    fn note<T>(&mut self, verb: Verb, node: String, value: &Spanned<T>) {
        if value.referenced.line() > 0 {
            self.expectations.insert((verb, node), value.referenced.line());
        }
    }
}

// === impl Difference ===

/// On one line.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb {
            Verb::Validate => f.write_str("settings")?,
            verb => write!(f, "{verb}")?,
        }
        if let Some(node) = &self.node {
            write!(f, ": {node}")?;
        }
        match &self.expected {
            Some(expected) => write!(f, ": expected {expected}, was {}", self.answered),
            None => write!(f, ": nothing is expected, was {}", self.answered),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(yaml: &str) -> Result<ExpectedBinding, String> {
        serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
    }

    #[test]
    fn a_binding_is_written_as_it_is_shown() {
        for written in [
            r#"{annotations: {example.com/slot: "0"}}"#,
            r#"{labels: {example.com/rack: "r1"}}"#,
            r#"{annotations: {a: "1"}, labels: {b: "2"}}"#,
            "{annotations: {}}",
            "{refused: no slot is left}",
            "{retry: a slot is being cleaned}",
        ] {
            assert_eq!(binding(written).unwrap().to_string(), written);
        }
        assert_eq!(binding("{labels: {}}"), binding("{annotations: {}}"));
    }

    #[test]
    fn a_binding_is_one_thing_alone() {
        for wrong in ["{}", "fits", "{refused: a, retry: b}", "{labels: {a: b}, refused: c}", "{annotation: {a: b}}"] {
            assert!(binding(wrong).unwrap_err().contains("`{retry: the reason}`"), "{wrong}");
        }
    }
}
