//! kube-scheduler's own filters: it asks its extenders only about nodes that these have passed.
//!
//! Source: `pkg/scheduler/framework/plugins` and `k8s.io/component-helpers/scheduling` of Kubernetes 1.37. Tolerations
//! with `Gt` and `Lt` count, as with the gate `TaintTolerationComparisonOperators`.

use std::borrow::Cow;

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{Cluster, DeviceClasses, Entries, Node, ObjectError, Placed, Pod, Slot, Taint};

/// The filters about one pod.
#[derive(Debug)]
pub struct SchedulerFilters<'p> {
    pod: &'p Pod,
    ignored_resources: &'p [String],
    device_classes: &'p DeviceClasses,
    has_node_name: bool,
    tolerations: Vec<Toleration>,
    node_selector: Entries,
    node_affinity: Option<NodeAffinity>,
    not_modelled: Vec<&'static str>,
}

/// Why one of the filters rejects a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerRejection {
    /// The plugin that rejects it; those after it are not asked.
    pub plugin: &'static str,
    /// In kube-scheduler's words.
    pub reasons: Vec<Cow<'static, str>>,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Toleration {
    key: Box<str>,
    operator: Box<str>,
    value: Box<str>,
    effect: Box<str>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeAffinity {
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

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TopologySpread {
    when_unsatisfiable: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    persistent_volume_claim: Option<IgnoredAny>,
    ephemeral: Option<IgnoredAny>,
}

// === impl SchedulerFilters ===

impl<'p> SchedulerFilters<'p> {
    /// The filters about a pod that waits for its node. `ignored_resources` are the managed resources of extenders with
    /// `ignoredByScheduler`; what a node has of a resource that a DeviceClass provides is not modelled.
    ///
    /// # Errors
    /// If a field that the filters read has another type.
    pub fn new(pod: &'p Pod, cluster: &'p Cluster, ignored_resources: &'p [String]) -> Result<Self, ObjectError> {
        Ok(Self {
            pod,
            ignored_resources,
            device_classes: cluster.device_classes(),
            has_node_name: pod.node().is_some(),
            tolerations: field(pod, "/spec/tolerations")?.unwrap_or_default(),
            node_selector: field(pod, "/spec/nodeSelector")?.unwrap_or_default(),
            node_affinity: field(pod, "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution")?,
            not_modelled: not_modelled(pod)?,
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

    /// The first rejection of a node, in the order of kube-scheduler's default profile.
    pub fn rejection(&self, Slot { node, placed }: &Slot) -> Option<SchedulerRejection> {
        let placed = placed.as_deref();
        let has_name = !self.has_node_name || self.pod.node() == Some(node.name());
        let table: [(bool, _, _, _); 5] = [
            (has_name, "NodeName", "node(s) didn't match the requested node name", true),
            (self.is_schedulable(node), "NodeUnschedulable", "node(s) were unschedulable", true),
            (self.tolerates_all(node.taints()), "TaintToleration", "node(s) had untolerated taint(s)", true),
            (self.is_selected(node), "NodeAffinity", "node(s) didn't match Pod's node affinity/selector", true),
            (self.has_ports(placed), "NodePorts", "node(s) didn't have free ports for the requested pod ports", false),
        ];
        let first = table.into_iter().find(|(passes, ..)| !passes);
        let rejection = first.map(|(_, plugin, reason, unresolvable)| SchedulerRejection {
            plugin,
            reasons: vec![Cow::Borrowed(reason)],
            unresolvable,
        });
        rejection.or_else(|| self.insufficient(node, placed))
    }

    fn is_schedulable(&self, node: &Node) -> bool {
        let cordon = || Taint {
            key: "node.kubernetes.io/unschedulable".into(),
            value: Box::default(),
            effect: "NoSchedule".into(),
        };
        !node.unschedulable() || self.tolerates(&cordon())
    }

    fn tolerates_all(&self, taints: &[Taint]) -> bool {
        let repels = |taint: &&Taint| matches!(&*taint.effect, "NoSchedule" | "NoExecute");
        taints.iter().filter(repels).all(|taint| self.tolerates(taint))
    }

    fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    fn is_selected(&self, node: &Node) -> bool {
        let terms = self.node_affinity.as_ref().map(|affinity| affinity.node_selector_terms.iter().flatten());
        self.node_selector.iter().all(|(key, value)| node.labels().get(key) == Some(value))
            && terms.is_none_or(|mut terms| terms.any(|term| term.selects(node)))
    }

    fn has_ports(&self, placed: Option<&Placed>) -> bool {
        let own = self.pod.host_ports();
        let mut used = placed.into_iter().flat_map(Placed::pods).flat_map(|pod| pod.host_ports());
        own.is_empty() || !used.any(|used| own.iter().any(|own| own.conflicts(used)))
    }

    /// What the node lacks. Pods, cpu and memory are compared where the node names them, as each kubelet does: a
    /// node that is written by hand may have no `allocatable`.
    fn insufficient(&self, node: &Node, placed: Option<&Placed>) -> Option<SchedulerRejection> {
        let allocatable = node.allocatable();
        let requested = |name| placed.and_then(Placed::requested).map_or(0, |requested| requested.get(name));
        let pods = placed.map_or(0, |placed| placed.pods().len() as i64);
        let mut reasons = Vec::new();
        if allocatable.names("pods") && pods >= allocatable.get("pods") {
            reasons.push(Cow::Borrowed("Too many pods"));
        }
        let mut unresolvable = false;
        for (name, amount) in self.pod.requests().iter().filter(|(_, amount)| *amount > 0) {
            let is_unknown = matches!(name, "cpu" | "memory") && !allocatable.names(name);
            let is_ignored = self.ignored_resources.iter().any(|ignored| ignored == name);
            let is_of_devices = self.device_classes.provider(name, allocatable).is_some();
            let total = allocatable.get(name);
            if !is_unknown && !is_ignored && !is_of_devices && amount > total.saturating_sub(requested(name)) {
                reasons.push(format!("Insufficient {name}").into());
                unresolvable |= amount > total;
            }
        }
        let rejection = SchedulerRejection { plugin: "NodeResourcesFit", reasons, unresolvable };
        Some(rejection).filter(|rejection| !rejection.reasons.is_empty())
    }
}

// === impl Toleration ===

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let numbers = || Some((decimal(&taint.value)?, decimal(&self.value)?));
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && match &*self.operator {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                "Gt" => numbers().is_some_and(|(taint, own)| taint > own),
                "Lt" => numbers().is_some_and(|(taint, own)| taint < own),
                _ => false,
            }
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

/// A number without a plus sign and without leading zeros.
fn decimal(text: &str) -> Option<i64> {
    text.parse().ok().filter(|number: &i64| number.to_string() == text)
}

/// The plugins that are not modelled and that the pod uses.
fn not_modelled(pod: &Pod) -> Result<Vec<&'static str>, ObjectError> {
    let has_any =
        |pointer| field::<Vec<IgnoredAny>>(pod, pointer).map(|list| list.is_some_and(|list| !list.is_empty()));
    let spreads: Option<Vec<TopologySpread>> = field(pod, "/spec/topologySpreadConstraints")?;
    let volumes: Option<Vec<Volume>> = field(pod, "/spec/volumes")?;
    let is_hard = |spread: &TopologySpread| *spread.when_unsatisfiable == *"DoNotSchedule";
    let is_claim = |volume: &Volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
    let table = [
        (volumes.iter().flatten().any(is_claim), "VolumeBinding"),
        (spreads.iter().flatten().any(is_hard), "PodTopologySpread"),
        (
            has_any("/spec/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution")?
                || has_any("/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution")?,
            "InterPodAffinity",
        ),
        (has_any("/spec/resourceClaims")?, "DynamicResources"),
    ];
    Ok(table.into_iter().filter(|(is_used, _)| *is_used).map(|(_, plugin)| plugin).collect())
}

/// A field of the pod; none if it is absent or null.
fn field<T: DeserializeOwned>(pod: &Pod, pointer: &str) -> Result<Option<T>, ObjectError> {
    let wrong = |error: serde_json::Error| ObjectError::invalid("Pod", format_args!("{pointer}: {error}"));
    pod.field(pointer).map_or(Ok(None), |json| serde_json::from_str(json).map_err(wrong))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;
    use crate::model::DeviceClass;

    fn pod(spec: &Value) -> Pod {
        Pod::from_json(Bytes::from(json!({"metadata": {"name": "p"}, "spec": spec}).to_string())).unwrap()
    }

    /// A node of 2 CPUs and one GPU, with a pod that has one CPU, the GPU and some ports.
    fn slot(spec: &Value, allocatable: &Value) -> Slot {
        let labels = json!({"zone": "a", "gen": "7"});
        let node =
            json!({"metadata": {"name": "n1", "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}});
        let ports =
            json!([{"hostPort": 80}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}, {"containerPort": 90}]);
        let requests = json!({"requests": {"cpu": "1", "x/gpu": "1"}});
        let spec = json!({"nodeName": "n1", "containers": [{"ports": ports, "resources": requests}],
            "initContainers": [{"ports": [{"hostPort": 70}]}, {"restartPolicy": "Always", "ports": [{"hostPort": 71}]}]});
        let placed = Pod::placed_from_json(json!({"spec": spec}).to_string().as_bytes()).unwrap();
        Slot {
            node: Arc::new(Node::from_json(Bytes::from(node.to_string())).unwrap()),
            placed: Some(Arc::new(Placed::new(vec![Arc::new(placed)]))),
        }
    }

    fn reasons(pod: &Value, slot: &Slot) -> String {
        let (pod, ignored) = (self::pod(pod), ["x/ignored".to_owned()]);
        let class = br#"{"metadata":{"name":"c"},"spec":{"extendedResourceName":"x/dra"}}"#;
        let classes = DeviceClasses::new([&DeviceClass::from_json(class).unwrap()]);
        let cluster = Cluster::default().with_device_classes(Arc::new(classes));
        let rejection = SchedulerFilters::new(&pod, &cluster, &ignored).unwrap().rejection(slot);
        rejection.map_or_else(String::new, |rejection| {
            format!("{}{}", rejection.reasons.join(", "), if rejection.unresolvable { "" } else { " (preempt)" })
        })
    }

    #[test]
    fn a_pod_is_rejected_by_the_first_plugin_and_in_its_words() {
        let allocatable = json!({"cpu": "2", "memory": "1Gi", "pods": "2", "x/gpu": "1"});
        let (node, full) = (slot(&json!({}), &allocatable), slot(&json!({}), &json!({"cpu": "2", "pods": "1"})));
        let cordoned = slot(&json!({"unschedulable": true}), &allocatable);
        let tainted = |key: &str, value: &str, effect: &str| {
            slot(&json!({"taints": [{"key": key, "value": value, "effect": effect}]}), &allocatable)
        };
        let tolerating =
            |operator: &str, value: &str| json!({"tolerations": [{"key": "k", "operator": operator, "value": value}]});
        let affine = |terms: Value| {
            let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
            json!({"affinity": {"nodeAffinity": required}})
        };
        let label = |key: &str, operator: &str, values: &[&str]| {
            affine(json!([{}, {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]))
        };
        let named = |operator: &str, values: &[&str]| {
            affine(json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]}]))
        };
        let asking = |requests: Value| json!({"containers": [{"resources": {"requests": requests}}]});
        let port = |port: Value| json!({"containers": [{"ports": [port]}]});
        let (taint, selector) =
            ("node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector");
        let ports = "node(s) didn't have free ports for the requested pod ports (preempt)";
        let table = [
            (json!({}), &node, ""),
            (json!({"nodeName": "n2"}), &node, "node(s) didn't match the requested node name"),
            (json!({}), &cordoned, "node(s) were unschedulable"),
            (json!({"tolerations": [{"operator": "Exists"}], "nodeName": "n1"}), &cordoned, ""),
            (json!({}), &tainted("k", "v", "PreferNoSchedule"), ""),
            (json!({"tolerations": [{"key": "k", "effect": "NoExecute"}]}), &tainted("k", "", "NoSchedule"), taint),
            (tolerating("Equal", "v"), &tainted("k", "v", "NoExecute"), ""),
            (tolerating("", "w"), &tainted("k", "v", "NoExecute"), taint),
            (tolerating("Exists", ""), &tainted("other", "", "NoExecute"), taint),
            (tolerating("Gt", "5"), &tainted("k", "6", "NoSchedule"), ""),
            (tolerating("Lt", "5"), &tainted("k", "06", "NoSchedule"), taint),
            (tolerating("Lt", "-5"), &tainted("k", "-6", "NoSchedule"), ""),
            (json!({"nodeSelector": {"zone": "a", "gen": "7"}}), &node, ""),
            (json!({"nodeSelector": {"zone": "b"}}), &node, selector),
            (affine(Value::Null), &node, selector),
            (label("zone", "In", &["b", "a"]), &node, ""),
            (label("zone", "In", &[]), &node, selector),
            (label("zone", "NotIn", &["a"]), &node, selector),
            (label("absent", "NotIn", &["a"]), &node, ""),
            (label("zone", "Exists", &[]), &node, ""),
            (label("zone", "DoesNotExist", &[]), &node, selector),
            (label("gen", "Gt", &["6"]), &node, ""),
            (label("gen", "Lt", &["7"]), &node, selector),
            (label("zone", "Lt", &["7"]), &node, selector),
            (label("zone", "Like", &["a"]), &node, selector),
            (named("In", &["n1"]), &node, ""),
            (named("NotIn", &["n1"]), &node, selector),
            (named("In", &["n1", "n2"]), &node, selector),
            (port(json!({"hostPort": 80})), &node, ports),
            (port(json!({"hostPort": 80, "hostIP": "10.0.0.9", "protocol": "TCP"})), &node, ports),
            (port(json!({"hostPort": 80, "protocol": "UDP"})), &node, ""),
            (port(json!({"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.2"})), &node, ""),
            (port(json!({"hostPort": 53, "protocol": "UDP"})), &node, ports),
            (port(json!({"hostPort": 71})), &node, ports),
            (port(json!({"hostPort": 70})), &node, ""),
            (asking(json!({"cpu": "1", "memory": "1Gi", "x/ignored": "9", "x/none": "0"})), &node, ""),
            (asking(json!({"cpu": "1001m"})), &node, "Insufficient cpu (preempt)"),
            (asking(json!({"memory": "2Gi", "x/gpu": "1"})), &node, "Insufficient memory, Insufficient x/gpu"),
            (asking(json!({"x/none": "1"})), &node, "Insufficient x/none"),
            (asking(json!({"cpu": "2", "memory": "9Gi"})), &full, "Too many pods, Insufficient cpu (preempt)"),
            (asking(json!({"cpu": "9"})), &slot(&json!({}), &json!({})), ""),
            (asking(json!({"x/dra": "9"})), &node, ""),
            (asking(json!({"x/dra": "9"})), &slot(&json!({}), &json!({"x/dra": "1"})), "Insufficient x/dra"),
        ];
        for (pod, slot, expected) in table {
            assert_eq!(reasons(&pod, slot), expected, "{pod} on {:?}", slot.node);
        }
    }

    #[test]
    fn plugins_that_are_not_modelled_are_named_where_the_pod_uses_them() {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{}]});
        let table = [
            (json!({"volumes": [{"name": "tmp", "emptyDir": {}}, {"configMap": null}], "affinity": null}), &[][..]),
            (json!({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}), &["VolumeBinding"]),
            (json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}), &[]),
            (json!({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}), &["PodTopologySpread"]),
            (json!({"affinity": {"podAntiAffinity": required}}), &["InterPodAffinity"]),
            (
                json!({"affinity": {"podAffinity": required}, "resourceClaims": [{}]}),
                &["InterPodAffinity", "DynamicResources"],
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(
                SchedulerFilters::new(&pod(&spec), &Cluster::default(), &[]).unwrap().not_modelled(),
                expected,
                "{spec}"
            );
        }
        let wrong = pod(&json!({"tolerations": [7]}));
        let error = SchedulerFilters::new(&wrong, &Cluster::default(), &[]).unwrap_err().to_string();
        assert!(error.starts_with("Pod: /spec/tolerations: invalid type"), "{error}");
    }
}
