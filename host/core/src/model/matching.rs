//! Which pods a policy is asked about.

use serde::Serialize;

use crate::model::{Pod, Requirement};

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
        if !self
            .pod_selector
            .iter()
            .flatten()
            .all(|requirement| requirement.accepts(pod.labels().get(&requirement.key)))
        {
            return Some("it does not match the pod: its labels do not fit match.podSelector");
        }
        if !self.resources.as_ref().is_none_or(names_one) {
            return Some("it does not match the pod: no container has a resource of match.resources");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::model::Operator;

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
