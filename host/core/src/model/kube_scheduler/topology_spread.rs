//! The plugin `PodTopologySpread`.

use std::sync::OnceLock;

use hashbrown::HashMap;
use serde::Deserialize;

use super::{node_choice::NodeChoice, rejection::SchedulerRejection};
use crate::model::{Cluster, LabelSelector, Node, Placed, Pod};

/// The constraints of a pod that are no mere wishes. The default constraints of a cluster are wishes.
#[derive(Debug)]
pub(super) struct TopologySpread<'p> {
    pod: &'p Pod,
    cluster: &'p Cluster,
    constraints: Vec<Constraint>,
    /// By constraint. Counted for the first node that has passed the filters before.
    domains: OnceLock<Vec<Domains<'p>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Constraint {
    max_skew: i64,
    topology_key: Box<str>,
    when_unsatisfiable: Box<str>,
    /// None selects no pod.
    label_selector: Option<LabelSelector>,
    match_label_keys: Option<Vec<Box<str>>>,
    min_domains: Option<usize>,
    node_affinity_policy: Option<Box<str>>,
    node_taints_policy: Option<Box<str>>,
}

/// The pods that a constraint selects.
#[derive(Debug, Default)]
struct Domains<'p> {
    /// Their number by the value of the topology key, on nodes that are eligible.
    pods: HashMap<&'p str, i64, foldhash::fast::RandomState>,
    /// The smallest number.
    least: i64,
    /// 1 if the pod itself is one.
    own: i64,
}

// === impl TopologySpread ===

impl<'p> TopologySpread<'p> {
    pub(super) fn new(pod: &'p Pod, cluster: &'p Cluster, constraints: Option<Vec<Constraint>>) -> Self {
        let mut constraints = constraints.unwrap_or_default();
        constraints.retain(|constraint| *constraint.when_unsatisfiable == *"DoNotSchedule");
        for Constraint { label_selector, match_label_keys, .. } in &mut constraints {
            if let (Some(selector), Some(keys)) = (label_selector, match_label_keys) {
                selector.require_same(keys, pod.labels());
            }
        }
        Self { pod, cluster, constraints, domains: OnceLock::new() }
    }

    pub(super) fn rejection(&self, node: &Node, choice: &NodeChoice) -> Option<SchedulerRejection<'_>> {
        if self.constraints.is_empty() {
            return None;
        }
        let rejection = |reasons, unresolvable| SchedulerRejection::new("PodTopologySpread", reasons, unresolvable);
        for (constraint, domains) in self.constraints.iter().zip(self.domains.get_or_init(|| self.count(choice))) {
            let Some(domain) = node.labels().get(&constraint.topology_key) else {
                let reasons = &["node(s) didn't match pod topology spread constraints (missing required label)"];
                return Some(rejection(reasons, true));
            };
            let pods = domains.pods.get(domain).copied().unwrap_or(0);
            if pods + domains.own - domains.least > constraint.max_skew {
                return Some(rejection(&["node(s) didn't match pod topology spread constraints"], false));
            }
        }
        None
    }

    fn count(&self, choice: &NodeChoice) -> Vec<Domains<'p>> {
        let mut all: Vec<Domains<'p>> = self.constraints.iter().map(|_| Domains::default()).collect();
        for (node, placed) in self.cluster.nodes() {
            let domain = |constraint: &Constraint| node.labels().get(&constraint.topology_key);
            let Some(names) = self.constraints.iter().map(domain).collect::<Option<Vec<_>>>() else { continue };
            for ((constraint, domains), name) in self.constraints.iter().zip(&mut all).zip(names) {
                if constraint.counts_on(node, choice) {
                    *domains.pods.entry(name).or_default() += constraint.selected(placed, self.pod.namespace());
                }
            }
        }
        for (constraint, domains) in self.constraints.iter().zip(&mut all) {
            domains.own = constraint.label_selector.as_ref().map_or(0, |selector| selects(selector, self.pod).into());
            if domains.pods.len() >= constraint.min_domains.unwrap_or(1) {
                domains.least = domains.pods.values().copied().min().unwrap_or(0);
            }
        }
        all
    }
}

// === impl Constraint ===

impl Constraint {
    /// Whether pods on the node count.
    fn counts_on(&self, node: &Node, choice: &NodeChoice) -> bool {
        let honors_affinity = self.node_affinity_policy.as_deref().is_none_or(|policy| policy == "Honor");
        let honors_taints = self.node_taints_policy.as_deref() == Some("Honor");
        (!honors_affinity || choice.is_selected(node)) && (!honors_taints || choice.tolerates_all(node.taints()))
    }

    /// The number of the pods that it selects; kube-scheduler counts none for an empty selector.
    fn selected(&self, placed: Option<&Placed>, namespace: &str) -> i64 {
        let Some(selector) = self.label_selector.as_ref().filter(|selector| !selector.is_empty()) else { return 0 };
        let counts = |pod: &Pod| pod.namespace() == namespace && !pod.is_terminating() && selects(selector, pod);
        placed.map_or(&[][..], Placed::pods).iter().filter(|pod| counts(pod)).count() as i64
    }
}

fn selects(selector: &LabelSelector, pod: &Pod) -> bool {
    selector.selects(|key| pod.labels().get(key))
}
