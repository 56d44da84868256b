//! The terms of inter-pod affinity and anti-affinity.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Entries, LabelSelector};

/// Pods in some namespaces, near which another pod must or must not be. The API server has merged its label keys into its
/// selector.
#[derive(Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AffinityTerm {
    /// None selects no pod.
    label_selector: Option<LabelSelector>,
    /// The label of nodes whose values are the places; a node without it is in none.
    pub(crate) topology_key: Box<str>,
    namespaces: Option<Vec<Box<str>>>,
    namespace_selector: Option<LabelSelector>,
}

/// Terms of one kind that are required.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Required<T> {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(crate) terms: Option<T>,
}

/// The required anti-affinity of a pod; it has terms.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct AntiAffinity(Box<[AffinityTerm]>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AffinityJson {
    pod_anti_affinity: Option<Required<Vec<AffinityTerm>>>,
}

// === impl AffinityTerm ===

impl AffinityTerm {
    /// As a term of a pod in this namespace, which it means if it names no other.
    pub(crate) fn of_namespace(mut self, own: &str) -> Self {
        if self.namespace_selector.is_none() && self.namespaces.as_ref().is_none_or(Vec::is_empty) {
            self.namespaces = Some(vec![own.into()]);
        }
        self
    }

    /// Whether it selects a pod in this namespace with these labels; `selects_namespace` says whether a selector selects the
    /// namespace.
    pub(crate) fn selects(
        &self,
        namespace: &str,
        labels: &Entries,
        selects_namespace: impl Fn(&LabelSelector) -> bool,
    ) -> bool {
        let is_named = self.namespaces.iter().flatten().any(|name| **name == *namespace);
        (is_named || self.namespace_selector.as_ref().is_some_and(selects_namespace))
            && self.label_selector.as_ref().is_some_and(|selector| selector.selects(|key| labels.get(key)))
    }
}

// === impl AntiAffinity ===

impl AntiAffinity {
    /// That of `spec.affinity`; none if it has no term or one that cannot be read: kube-scheduler, too, then takes the pod
    /// as one without.
    pub(super) fn from_json(affinity: &RawValue, namespace: &str) -> Option<Arc<Self>> {
        let AffinityJson { pod_anti_affinity } = serde_json::from_str(affinity.get()).ok()?;
        let terms = pod_anti_affinity?.terms.filter(|terms| !terms.is_empty())?;
        Some(Arc::new(Self(terms.into_iter().map(|term| term.of_namespace(namespace)).collect())))
    }

    /// Its terms.
    pub(crate) fn terms(&self) -> &[AffinityTerm] {
        &self.0
    }
}
