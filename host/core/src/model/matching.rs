//! Which pods a policy is asked about.

use serde::Serialize;

use crate::model::{Namespace, Pod, Requirement};

/// The label that each namespace has, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// All parts that are given must hold; a match with none of them matches every pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// The pod is in one of these namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<Vec<Box<str>>>,
    /// The labels of the pod's namespace meet all of these. If they are not known, the policy is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<Vec<Requirement>>,
    /// The pod is of one of these profiles of kube-scheduler (`spec.schedulerName`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_names: Option<Vec<Box<str>>>,
    /// The pod's labels meet all of these: `matchLabels` and `matchExpressions` alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<Vec<Requirement>>,
    /// A container names one of these resources in its requests or limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Vec<Box<str>>>,
    /// A pod that fits this match is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Box<Self>>,
}

// === impl Match ===

impl Match {
    /// Whether a policy with this match is asked about the pod, whose namespace may not be known.
    pub fn accepts(&self, pod: &Pod, namespace: Option<&Namespace>) -> bool {
        self.mismatch(pod, namespace).is_none()
    }

    /// Why a policy with this match is not asked about the pod: the first part that does not hold.
    pub fn mismatch(&self, pod: &Pod, namespace: Option<&Namespace>) -> Option<&'static str> {
        self.mismatch_if(pod, namespace, true)
    }

    /// As [`mismatch`](Self::mismatch), where labels of a namespace that is not known fit or do not.
    fn mismatch_if(&self, pod: &Pod, namespace: Option<&Namespace>, unknown_fits: bool) -> Option<&'static str> {
        let fits_namespace = |requirement: &Requirement| match namespace {
            _ if &*requirement.key == NAMESPACE_NAME => requirement.accepts(Some(pod.namespace())),
            Some(namespace) => requirement.accepts(namespace.labels().get(&requirement.key)),
            None => unknown_fits,
        };
        let in_namespace = |namespaces: &Vec<Box<str>>| namespaces.iter().any(|name| **name == *pod.namespace());
        let in_profile = |names: &Vec<Box<str>>| names.iter().any(|name| **name == *pod.scheduler_name());
        let names_one = |resources: &Vec<Box<str>>| resources.iter().any(|name| pod.names_resource(name));
        if !self.namespaces.as_ref().is_none_or(in_namespace) {
            return Some("it does not match the pod: its namespace is not in match.namespaces");
        }
        if !self.namespace_selector.iter().flatten().all(fits_namespace) {
            return Some("it does not match the pod: the labels of its namespace do not fit match.namespaceSelector");
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
        let excluded = |exclude: &Self| exclude.mismatch_if(pod, namespace, !unknown_fits).is_none();
        if self.exclude.as_deref().is_some_and(excluded) {
            return Some("it does not match the pod: match.exclude leaves it out");
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
        assert!(Match::default().accepts(&pod(), None));
        assert!(Match::default().accepts(&Pod::default(), None));
    }

    #[test]
    fn all_parts_of_a_match_must_hold() {
        let all = Match {
            namespaces: Some(vec!["web".into(), "ml".into()]),
            scheduler_names: Some(vec!["batch".into()]),
            pod_selector: Some(vec![requirement("team", Operator::Exists, &[])]),
            resources: Some(vec!["example.com/gpu-mem".into()]),
            ..Match::default()
        };
        assert!(all.accepts(&pod(), None));
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
                !changed.accepts(&pod(), None) && changed.mismatch(&pod(), None).is_some_and(|why| why.contains(part)),
                "{part}"
            );
        }
    }

    /// For a namespace that is not known, the policy is asked: a constraint must not be lost.
    #[test]
    fn a_pod_is_matched_by_the_labels_of_its_namespace_and_may_be_excluded() {
        let select = |key, operator, values: &[&str]| Match {
            namespace_selector: Some(vec![requirement(key, operator, values)]),
            ..Match::default()
        };
        let exclude = |of: Match| Match { exclude: Some(Box::new(of)), ..Match::default() };
        let gold = || select("tier", Operator::In, &["gold"]);
        let silver = || select("tier", Operator::In, &["silver"]);
        let named = |operator, name: &str| select("kubernetes.io/metadata.name", operator, &[name]);
        let in_ml = || Match { namespaces: Some(vec!["ml".into()]), ..Match::default() };
        let known = Namespace::from_json(br#"{"metadata":{"name":"ml","labels":{"tier":"gold"}}}"#).unwrap();
        // Whether the policy is asked where the namespace is known, and where it is not.
        let table = [
            (gold(), true, true),
            (silver(), false, true),
            (exclude(gold()), false, true),
            (exclude(silver()), true, true),
            (exclude(exclude(gold())), true, true),
            (exclude(exclude(silver())), false, true),
            (named(Operator::NotIn, "ml"), false, false),
            (named(Operator::NotIn, "kube-system"), true, true),
            (exclude(named(Operator::In, "ml")), false, false),
            (exclude(in_ml()), false, false),
            (exclude(Match { scheduler_names: Some(vec!["other".into()]), ..in_ml() }), true, true),
        ];
        for (matches, if_known, if_unknown) in table {
            assert_eq!(matches.accepts(&pod(), Some(&known)), if_known, "{matches:?}");
            assert_eq!(matches.accepts(&pod(), None), if_unknown, "{matches:?}");
        }
    }
}
