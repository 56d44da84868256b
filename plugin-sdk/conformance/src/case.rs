//! The table of cases.

use std::sync::LazyLock;

use plimsoll_core::{FaultKind, Verb};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Value, json};

/// The cases as they are written.
const YAML: &str = include_str!("../cases.yaml");

/// The texts that answers name by `@`, each with its file.
pub(crate) const ANSWERS: [(&str, &str); 12] = [
    ("pod", include_str!("../answers/pod.txt")),
    ("node", include_str!("../answers/node.txt")),
    ("placed", include_str!("../answers/placed.txt")),
    ("placed-unknown", include_str!("../answers/placed-unknown.txt")),
    ("cluster", include_str!("../answers/cluster.txt")),
    ("cluster-unknown", include_str!("../answers/cluster-unknown.txt")),
    ("namespace", include_str!("../answers/namespace.txt")),
    ("namespace-unknown", include_str!("../answers/namespace-unknown.txt")),
    ("facts", include_str!("../answers/facts.txt")),
    ("field", include_str!("../answers/field.txt")),
    ("large", include_str!("../answers/large.txt")),
    ("time", include_str!("../answers/time.txt")),
];

/// One question, and the answers or faults that are expected.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, unlike that of any other case.
    pub name: String,
    /// The topic, where the settings have nothing else.
    topic: Option<String>,
    #[serde(default)]
    settings: Value,
    /// The verb that is asked.
    #[serde(deserialize_with = "verb")]
    pub verb: Verb,
    /// The nodes that it is asked about; none for `validate`.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// The part of the world that the gateway does not know.
    #[serde(default)]
    pub without: Without,
    /// The time limit of the call, in milliseconds, where it is another than that of all.
    pub milliseconds: Option<u64>,
    /// The answers, one for each node; empty if there must be none.
    #[serde(default, rename = "answer")]
    pub(crate) written: Vec<String>,
    /// The faults of which any may end the call; empty if none may.
    #[serde(default, rename = "fault", deserialize_with = "faults")]
    pub faults: Vec<FaultKind>,
    /// A part of the fault's text.
    pub detail: Option<String>,
}

/// A part of the world that the gateway does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Without {
    /// It knows all.
    #[default]
    Nothing,
    /// It has no view of pods, and so none of the cluster.
    Pods,
    /// It has no view of the whole cluster.
    Cluster,
    /// It knows no namespaces.
    Namespaces,
}

/// All cases, in their order.
pub fn cases() -> &'static [Case] {
    #[expect(clippy::expect_used, reason = "the text is part of this crate, and a test reads it")]
    static CASES: LazyLock<Vec<Case>> =
        LazyLock::new(|| serde_saphyr::from_str(YAML).expect("cases.yaml must be a list of cases"));
    &CASES
}

// === impl Case ===

impl Case {
    /// The settings of the policy, as JSON.
    pub fn settings(&self) -> String {
        self.topic.as_ref().map_or_else(|| self.settings.clone(), |topic| json!({"topic": topic})).to_string()
    }

    /// The answers that are expected, with the texts that they name.
    pub fn answers(&self) -> Vec<String> {
        self.written.iter().map(|answer| expanded(answer)).collect()
    }
}

// === impl Without ===

impl Without {
    /// The word in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Pods => "pods",
            Self::Cluster => "cluster",
            Self::Namespaces => "namespaces",
        }
    }
}

/// The answer with the text in place of its name: `unschedulable: @pod`.
fn expanded(answer: &str) -> String {
    let Some((kind, name)) = answer.split_once('@') else { return answer.to_owned() };
    let text = ANSWERS.iter().find(|(own, _)| *own == name).map_or(answer, |(_, text)| text.trim_end_matches('\n'));
    format!("{kind}{text}")
}

fn verb<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verb, D::Error> {
    let name = String::deserialize(deserializer)?;
    Verb::from_name(&name).ok_or_else(|| D::Error::custom(format!("there is no verb {name}")))
}

fn faults<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<FaultKind>, D::Error> {
    let kind =
        |name: String| FaultKind::from_name(&name).ok_or_else(|| D::Error::custom(format!("there is no fault {name}")));
    Vec::<String>::deserialize(deserializer)?.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_expects_something() {
        let names: BTreeSet<&str> = cases().iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases().len());
        for case in cases() {
            assert!(!case.written.is_empty() || !case.faults.is_empty(), "{}", case.name);
            let asked = if case.verb == Verb::Validate { 1 } else { case.nodes.len() };
            assert!(case.written.is_empty() || case.written.len() == asked, "{}: one answer for each node", case.name);
            assert!(case.answers().iter().all(|answer| !answer.contains('@')), "{}: no such text", case.name);
        }
    }

    #[test]
    fn every_verb_and_every_fault_of_a_policy_is_in_a_case() {
        let verbs: BTreeSet<Verb> = cases().iter().map(|case| case.verb).collect();
        assert_eq!(verbs.into_iter().collect::<Vec<_>>(), Verb::ALL);
        // The others are faults of the machine, of the gateway, or of a sidecar.
        for kind in ["trap", "timeout", "memory", "stack", "output", "panic", "read"] {
            let kind = FaultKind::from_name(kind).unwrap();
            assert!(cases().iter().any(|case| case.faults.contains(&kind)), "{kind}");
        }
    }
}
