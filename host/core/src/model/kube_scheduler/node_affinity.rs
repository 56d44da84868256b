//! Required node affinity.

use serde::Deserialize;

use crate::model::Node;

/// Selects a node if one of its terms does.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NodeSelector {
    node_selector_terms: Option<Vec<Term>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Term {
    match_expressions: Option<Vec<Requirement>>,
    match_fields: Option<Vec<Requirement>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requirement {
    key: Box<str>,
    operator: Box<str>,
    values: Option<Vec<Box<str>>>,
}

// === impl NodeSelector ===

impl NodeSelector {
    pub(super) fn selects(&self, node: &Node) -> bool {
        self.node_selector_terms.iter().flatten().any(|term| term.selects(node))
    }
}

// === impl Term ===

impl Term {
    /// A term that is empty, or has an invalid requirement, selects no node.
    fn selects(&self, node: &Node) -> bool {
        let [expressions, fields] =
            [&self.match_expressions, &self.match_fields].map(|list| list.as_deref().unwrap_or_default());
        !(expressions.is_empty() && fields.is_empty())
            && expressions.iter().all(|one| one.accepts(node.labels().get(&one.key)))
            && fields.iter().all(|one| one.accepts_field(node))
    }
}

// === impl Requirement ===

impl Requirement {
    fn accepts(&self, label: Option<&str>) -> bool {
        let values = self.values.as_deref().unwrap_or_default();
        let listed = label.is_some_and(|label| values.iter().any(|value| **value == *label));
        let numbers = |bound: &str| Some((label?.parse::<i64>().ok()?, bound.parse::<i64>().ok()?));
        match (&*self.operator, values) {
            ("In", [_, ..]) => listed,
            ("NotIn", [_, ..]) => !listed,
            ("Exists", []) => label.is_some(),
            ("DoesNotExist", []) => label.is_none(),
            ("Gt", [bound]) => numbers(bound).is_some_and(|(label, bound)| label > bound),
            ("Lt", [bound]) => numbers(bound).is_some_and(|(label, bound)| label < bound),
            _ => false,
        }
    }

    fn accepts_field(&self, node: &Node) -> bool {
        let value = if *self.key == *"metadata.name" { node.name() } else { "" };
        let is_valid = matches!(&*self.operator, "In" | "NotIn") && self.values.iter().flatten().count() == 1;
        is_valid && self.accepts(Some(value))
    }
}
