//! The nodes that a pod may use by its spec: tolerations, node selector and node affinity.

use super::{node_affinity::NodeSelector, toleration::Toleration};
use crate::model::{Entries, Node, Taint};

#[derive(Debug)]
pub(super) struct NodeChoice {
    pub(super) tolerations: Vec<Toleration>,
    pub(super) node_selector: Entries,
    pub(super) node_affinity: Option<NodeSelector>,
}

// === impl NodeChoice ===

impl NodeChoice {
    pub(super) fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    pub(super) fn tolerates_all(&self, taints: &[Taint]) -> bool {
        let repels = |taint: &&Taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute");
        taints.iter().filter(repels).all(|taint| self.tolerates(taint))
    }

    pub(super) fn is_selected(&self, node: &Node) -> bool {
        self.node_selector.iter().all(|(key, value)| node.labels().get(key) == Some(value))
            && self.node_affinity.as_ref().is_none_or(|affinity| affinity.selects(node))
    }
}
