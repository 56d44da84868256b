//! For the tests: a limit of the pods with a label, on each node or in the whole cluster. It is a filter alone.

use plimsoll_policy::prelude::*;

/// A limit.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtMost {
    /// The label of the pods that count: those with the value of the pod that is scheduled.
    label: String,
    /// The most such pods on a node.
    #[serde(default)]
    on_node: Option<u32>,
    /// The most such pods in the cluster.
    #[serde(default)]
    in_cluster: Option<u64>,
}

impl Filter for AtMost {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        let Some(value) = pod.label(&self.label) else { return Verdict::Fits };
        if let Some(most) = self.on_node
            && node.count_labelled(pod.namespace(), &self.label, value) >= most
        {
            return Verdict::unschedulable("the node has its pods");
        }
        let in_cluster = Selector::all().namespace(pod.namespace()).label(&self.label, value);
        if let Some(most) = self.in_cluster
            && node.cluster().at_least(in_cluster, most) != Some(false)
        {
            return Verdict::unschedulable("the cluster has its pods");
        }
        Verdict::Fits
    }
}

export!(AtMost: filter);
