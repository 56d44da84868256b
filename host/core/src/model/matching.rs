//! Which pods a policy is asked about.

use serde::Serialize;

use crate::model::{Entries, Pod};

/// All parts that are given must hold; a match with none of them matches every pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The pod is in one of these namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<Box<str>>>,
    /// The pod is of one of these profiles of kube-scheduler (`spec.schedulerName`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_names: Option<Vec<Box<str>>>,
    /// The pod's labels meet all of these: `matchLabels` and `matchExpressions` alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<Vec<Requirement>>,
    /// A container names one of these resources in its requests or limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<Box<str>>>,
}

/// One requirement of a Kubernetes label selector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The label's key.
    pub key: Box<str>,
    /// The comparison.
    pub operator: Operator,
    /// The values that it is compared with; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<Box<str>>,
}

/// A comparison of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

// === impl Match ===

impl Match {
    /// Whether a policy with this match is asked about the pod.
    pub fn accepts(&self, pod: &Pod) -> bool {
        self.mismatch(pod).is_none()
    }

    /// Why a policy with this match is not asked about the pod: the first part that does not hold.
    pub fn mismatch(&self, pod: &Pod) -> Option<&'static str> {
        let in_namespace = |namespaces: &Vec<Box<str>>| namespaces.iter().any(|name| **name == *pod.namespace());
        let in_profile = |names: &Vec<Box<str>>| names.iter().any(|name| **name == *pod.scheduler_name());
        let names_one = |resources: &Vec<Box<str>>| resources.iter().any(|name| pod.names_resource(name));
        if !self.namespaces.as_ref().is_none_or(in_namespace) {
            return Some("it does not match the pod: its namespace is not in match.namespaces");
        }
        if !self.scheduler_names.as_ref().is_none_or(in_profile) {
            return Some("it does not match the pod: its schedulerName is not in match.schedulerNames");
        }
        if !self.pod_selector.iter().flatten().all(|requirement| requirement.accepts(pod.labels())) {
            return Some("it does not match the pod: its labels do not fit match.podSelector");
        }
        if !self.resources.as_ref().is_none_or(names_one) {
            return Some("it does not match the pod: no container has a resource of match.resources");
        }
        None
    }
}

// === impl Requirement ===

impl Requirement {
    fn accepts(&self, labels: &Entries) -> bool {
        let label = labels.get(&self.key);
        let listed = label.is_some_and(|label| self.values.iter().any(|value| **value == *label));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn pod() -> Pod {
        let json = r#"{"metadata":{"name":"p","namespace":"ml","labels":{"team":"vision"}},
            "spec":{"schedulerName":"batch","containers":[{"resources":{"limits":{"example.com/gpu-mem":"4Gi"}}}]}}"#;
        Pod::from_json(Bytes::from_static(json.as_bytes())).unwrap()
    }

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        Requirement { key: key.into(), operator, values: values.iter().map(|value| (*value).into()).collect() }
    }

    #[test]
    fn a_match_with_nothing_in_it_accepts_every_pod() {
        assert!(Match::default().accepts(&pod()));
        assert!(Match::default().accepts(&Pod::default()));
    }

    #[test]
    fn selectors_follow_kubernetes() {
        let table = [
            (requirement("team", Operator::In, &["audio", "vision"]), true),
            (requirement("team", Operator::In, &["audio"]), false),
            (requirement("absent", Operator::In, &["audio"]), false),
            (requirement("team", Operator::NotIn, &["vision"]), false),
            (requirement("absent", Operator::NotIn, &["vision"]), true),
            (requirement("team", Operator::Exists, &[]), true),
            (requirement("absent", Operator::Exists, &[]), false),
            (requirement("team", Operator::DoesNotExist, &[]), false),
            (requirement("absent", Operator::DoesNotExist, &[]), true),
        ];
        for (requirement, expected) in table {
            assert_eq!(requirement.accepts(pod().labels()), expected, "{requirement:?}");
        }
    }

    #[test]
    fn all_parts_of_a_match_must_hold() {
        let all = Match {
            namespaces: Some(vec!["web".into(), "ml".into()]),
            scheduler_names: Some(vec!["batch".into()]),
            pod_selector: Some(vec![requirement("team", Operator::Exists, &[])]),
            resources: Some(vec!["example.com/gpu-mem".into()]),
        };
        assert!(all.accepts(&pod()));
        let other = vec![requirement("team", Operator::DoesNotExist, &[])];
        let table = [
            (Match { namespaces: Some(vec!["web".into()]), ..all.clone() }, "match.namespaces"),
            (Match { namespaces: Some(vec![]), ..all.clone() }, "match.namespaces"),
            (Match { scheduler_names: Some(vec!["default-scheduler".into()]), ..all.clone() }, "match.schedulerNames"),
            (Match { pod_selector: Some(other), ..all.clone() }, "match.podSelector"),
            (Match { resources: Some(vec!["example.com/gpu".into()]), ..all }, "match.resources"),
        ];
        for (changed, part) in table {
            assert!(
                !changed.accepts(&pod()) && changed.mismatch(&pod()).is_some_and(|why| why.contains(part)),
                "{part}"
            );
        }
    }
}
