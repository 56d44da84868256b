//! kube-scheduler's own filters: it asks its extenders only about nodes that these have passed.
//!
//! Source: `pkg/scheduler/framework/plugins` and `k8s.io/component-helpers/scheduling` of Kubernetes 1.37.

mod fit;
mod inter_pod_affinity;
mod node_affinity;
mod node_choice;
mod pod_fields;
mod rejection;
#[cfg(test)]
mod tests;
mod toleration;
mod topology_spread;

pub use self::rejection::SchedulerRejection;
use self::{
    fit::Fit, inter_pod_affinity::InterPodAffinity, node_choice::NodeChoice, pod_fields::PodFields,
    topology_spread::TopologySpread,
};
use super::{Cluster, ObjectError, Placed, Pod, Slot, Taint};

/// The filters about one pod and a cluster with its pods, among which the pod itself does not count. For every node a
/// nominated pod is where it is nominated; kube-scheduler takes a preemptor to be there for its own node alone.
#[derive(Debug)]
pub struct SchedulerFilters<'p> {
    pod: &'p Pod,
    cluster: &'p Cluster,
    has_node_name: bool,
    choice: NodeChoice,
    tolerates_cordon: bool,
    fit: Fit<'p>,
    spread: TopologySpread<'p>,
    inter_pod_affinity: InterPodAffinity<'p>,
    not_modelled: Vec<&'static str>,
    not_tried: Option<&'static str>,
}

// === impl SchedulerFilters ===

impl<'p> SchedulerFilters<'p> {
    /// The filters about a pod that waits for its node. `ignored_resources` are the managed resources of extenders with
    /// `ignoredByScheduler`; what a node has of a resource that a DeviceClass provides is not modelled.
    ///
    /// # Errors
    /// If a field that the filters read has another type.
    pub fn new(pod: &'p Pod, cluster: &'p Cluster, ignored_resources: &[String]) -> Result<Self, ObjectError> {
        let mut fields = PodFields::of(pod)?;
        let (not_modelled, has_gates) = (fields.not_modelled(), fields.has_gates());
        let node_affinity = fields.affinity.as_mut().and_then(|affinity| affinity.node.take());
        let choice = NodeChoice {
            tolerations: fields.tolerations.unwrap_or_default(),
            node_selector: fields.node_selector,
            node_affinity: node_affinity.and_then(|affinity| affinity.terms),
        };
        let key = "node.kubernetes.io/unschedulable".into();
        let cordon = Taint { key, value: Box::default(), effect: "NoSchedule".into() };
        Ok(Self {
            pod,
            cluster,
            has_node_name: pod.node().is_some(),
            tolerates_cordon: choice.tolerates(&cordon),
            choice,
            fit: Fit::new(pod, ignored_resources),
            spread: TopologySpread::new(pod, cluster, fields.topology_spread_constraints),
            inter_pod_affinity: InterPodAffinity::new(pod, cluster, fields.affinity),
            not_modelled,
            not_tried: if has_gates {
                Some("it has a scheduling gate")
            } else {
                pod.is_terminating().then_some("it is being deleted")
            },
        })
    }

    /// The same filters without `NodeName`: they say where a pod that is placed could have gone.
    #[must_use]
    pub fn without_node_name(self) -> Self {
        Self { has_node_name: false, ..self }
    }

    /// The plugins that the pod uses and that are not among the filters: they may reject more nodes.
    pub fn not_modelled(&self) -> &[&'static str] {
        &self.not_modelled
    }

    /// Why kube-scheduler asks neither its filters nor an extender about the pod.
    pub fn not_tried(&self) -> Option<&'static str> {
        self.not_tried
    }

    /// The first rejection of a node, in the order of kube-scheduler's default profile.
    ///
    /// The first call that reaches the last two plugins walks over the cluster: over its pods if the pod has such
    /// constraints, otherwise over its nodes.
    pub fn rejection(&self, Slot { node, placed }: &Slot) -> Option<SchedulerRejection<'_>> {
        let placed = placed.as_deref();
        let reject = |plugin, reasons: &'static [&'static str], unresolvable| {
            Some(SchedulerRejection::new(plugin, reasons, unresolvable))
        };
        if self.has_node_name && self.pod.node() != Some(node.name()) {
            return reject("NodeName", &["node(s) didn't match the requested node name"], true);
        }
        if node.unschedulable() && !self.tolerates_cordon {
            return reject("NodeUnschedulable", &["node(s) were unschedulable"], true);
        }
        if !self.choice.tolerates_all(node.taints()) {
            return reject("TaintToleration", &["node(s) had untolerated taint(s)"], true);
        }
        if !self.choice.is_selected(node) {
            return reject("NodeAffinity", &["node(s) didn't match Pod's node affinity/selector"], true);
        }
        if !self.has_ports(placed) {
            return reject("NodePorts", &["node(s) didn't have free ports for the requested pod ports"], false);
        }
        self.fit
            .rejection(node, placed, self.cluster.device_classes())
            .or_else(|| self.spread.rejection(node, &self.choice))
            .or_else(|| self.inter_pod_affinity.rejection(node))
    }

    fn has_ports(&self, placed: Option<&Placed>) -> bool {
        let own = self.pod.host_ports();
        let mut used = placed.into_iter().flat_map(Placed::pods).flat_map(|pod| pod.host_ports());
        own.is_empty() || !used.any(|used| own.iter().any(|port| port.conflicts(used)))
    }
}
