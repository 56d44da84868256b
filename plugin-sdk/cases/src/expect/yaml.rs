//! Reads expectations from YAML.

use std::collections::BTreeMap;

use plimsoll_core::Verb;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value as Json;
use serde_saphyr::Spanned;

use super::{Expectations, ExpectedBinding, ExpectedPreemption, ExpectedVerdict, Lines};

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

/// The same as it is written: annotations, labels or both, or else one of the reasons.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BindingYaml {
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
    refused: Option<String>,
    retry: Option<String>,
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
    ExpectedBinding: "`{annotations: {KEY: \"VALUE\"}}` (`{annotations: {}}` for none), `{labels: {KEY: \"VALUE\"}}` or both, `{refused: the reason}` or \
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

// === impl ExpectedBinding ===

impl ExpectedBinding {
    /// The inner of the two; `expectation!` writes the outer one.
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
