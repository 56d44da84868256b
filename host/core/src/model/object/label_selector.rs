//! Kubernetes' label selectors.

use serde::{Deserialize, Deserializer, Serialize};

use super::Entries;

/// Selects by labels: all requirements must hold. Without any it selects everything.
#[derive(Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "LabelSelectorJson")]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LabelSelectorJson {
    match_labels: Entries,
    match_expressions: Option<Vec<Requirement>>,
}

/// One requirement of a Kubernetes label selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Requirement {
    /// The label's key.
    pub key: Box<str>,
    /// The comparison.
    pub operator: Operator,
    /// The values that it is compared with; empty for `Exists` and `DoesNotExist`.
    #[serde(default, deserialize_with = "or_empty")]
    pub values: Vec<Box<str>>,
}

/// A comparison of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Whether it selects what has these labels.
    pub(crate) fn selects<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| requirement.accepts(label(&requirement.key)))
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requires the same values of those keys that the labels have.
    pub(crate) fn require_same(&mut self, keys: &[Box<str>], labels: &Entries) {
        self.0.extend(keys.iter().filter_map(|key| Some(Requirement::equal(key, labels.get(key)?))));
    }
}

impl From<LabelSelectorJson> for LabelSelector {
    fn from(LabelSelectorJson { match_labels, match_expressions }: LabelSelectorJson) -> Self {
        let equal = match_labels.iter().map(|(key, value)| Requirement::equal(key, value));
        Self(equal.chain(match_expressions.into_iter().flatten()).collect())
    }
}

// === impl Requirement ===

impl Requirement {
    fn equal(key: &str, value: &str) -> Self {
        Self { key: key.into(), operator: Operator::In, values: vec![value.into()] }
    }

    /// Whether it accepts the value of the label; none: the label is absent.
    pub(crate) fn accepts(&self, label: Option<&str>) -> bool {
        let listed = label.is_some_and(|label| self.values.iter().any(|value| **value == *label));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
        }
    }
}

/// A list; null is an empty one.
fn or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Box<str>>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_follow_kubernetes() {
        let table = [
            ("team", Operator::In, &["audio", "vision"][..], true),
            ("team", Operator::In, &["audio"], false),
            ("absent", Operator::In, &["audio"], false),
            ("team", Operator::NotIn, &["vision"], false),
            ("absent", Operator::NotIn, &["vision"], true),
            ("team", Operator::Exists, &[], true),
            ("absent", Operator::Exists, &[], false),
            ("team", Operator::DoesNotExist, &[], false),
            ("absent", Operator::DoesNotExist, &[], true),
        ];
        for (key, operator, values, expected) in table {
            let values = values.iter().map(|value| (*value).into()).collect();
            let requirement = Requirement { key: key.into(), operator, values };
            assert_eq!(requirement.accepts((key == "team").then_some("vision")), expected, "{requirement:?}");
        }
    }

    #[test]
    fn all_requirements_must_hold_and_an_empty_selector_selects_everything() {
        let labels: Entries = [("app", "web"), ("tier", "front")].into_iter().collect();
        let table = [
            ("{}", true),
            (r#"{"matchLabels":null,"matchExpressions":null}"#, true),
            (r#"{"matchLabels":{"app":"web","tier":"front"}}"#, true),
            (r#"{"matchLabels":{"app":"web","tier":"back"}}"#, false),
            (
                r#"{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"Exists","values":null}]}"#,
                true,
            ),
            (r#"{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"DoesNotExist"}]}"#, false),
        ];
        for (json, expected) in table {
            let selector: LabelSelector = serde_json::from_str(json).unwrap();
            assert_eq!(selector.selects(|key| labels.get(key)), expected, "{json}");
        }
        let mut selector = LabelSelector::default();
        selector.require_same(&["absent".into()], &labels);
        assert!(selector.is_empty());
        selector.require_same(&["app".into()], &labels);
        assert!(selector.selects(|key| labels.get(key)) && !selector.selects(|_| Some("db")));
        assert!(
            serde_json::from_str::<LabelSelector>(r#"{"matchExpressions":[{"key":"a","operator":"Gt"}]}"#).is_err()
        );
    }
}
