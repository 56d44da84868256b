//! A pod to schedule, the nodes, and the pods placed on them.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{
    AbsentFacts, Candidate, Cluster, DeviceClass, DeviceClasses, FactAccess, Facts, Namespace, Namespaces, Node,
    ObjectError, Pod, Slot, View, set_defaults,
};
use serde_json::Value;

/// The cluster and the question of a test; objects have the form of `kubectl get -o json`, and get the API server's
/// defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    /// The pod to schedule.
    pub pod: Value,
    /// All nodes of the cluster.
    pub nodes: Vec<Value>,
    /// The nodes that the policy is asked about, by name; none: all of them.
    pub request: Option<Vec<String>>,
    /// The pods placed on the nodes.
    pub pods: Vec<Value>,
    /// The namespaces; none: the gateway knows of no namespace.
    pub namespaces: Vec<Value>,
    /// The DeviceClasses.
    pub device_classes: Vec<Value>,
    /// The evictions that kube-scheduler proposes, for `preempt`.
    pub candidates: Vec<ProposedVictims>,
    /// The facts from outside, by source and key; those about a node have its name or an address as their key. The policy may
    /// read these sources, and no others.
    pub facts: Value,
    /// The time in Unix seconds.
    pub now: u64,
    /// Whether the gateway knows no pods: it has no view of the cluster, and reads of placed pods have no answer.
    pub without_pods: bool,
    /// Whether the gateway has no view of the whole cluster: reads of it have no answer.
    pub without_cluster: bool,
}

/// A preemption candidate by names.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ProposedVictims {
    /// The node on which pods would be evicted.
    pub node: String,
    /// `namespace/name` of pods that are placed there.
    pub victims: Vec<String>,
    /// The number of disruption budgets that their eviction would violate.
    #[serde(default)]
    pub pdb_violations: u32,
}

/// Why a world cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A pod, node, namespace or DeviceClass is invalid.
    #[error("{what}: {error}")]
    Object {
        /// Which one.
        what: String,
        /// The reason.
        error: ObjectError,
    },
    /// A pod, a candidate or `request` names a node that is not there.
    #[error("{what} names the node '{node}'; there is no such node")]
    NoNode {
        /// The object that names it.
        what: String,
        /// The node.
        node: String,
    },
    /// A victim is not placed on the candidate's node.
    #[error("{what} names the victim '{victim}'; no such pod is placed on '{node}'")]
    NoVictim {
        /// The candidate.
        what: String,
        /// The candidate's node.
        node: String,
        /// `namespace/name`.
        victim: String,
    },
    /// Two placed pods have one name.
    #[error("{what}: another pod is named '{pod}' already")]
    SamePod {
        /// The second of them.
        what: String,
        /// `namespace/name`.
        pod: String,
    },
    /// The facts are invalid.
    #[error("facts: {0}")]
    Facts(String),
    /// Two nodes have one name.
    #[error("{what}: another node is named '{node}' already")]
    SameName {
        /// The second of them.
        what: String,
        /// Their name.
        node: String,
    },
}

// === impl WorldError ===

impl WorldError {
    /// The part of the world that the error is in, such as `nodes[2]`.
    pub(crate) fn object(&self) -> &str {
        match self {
            Self::Object { what, .. }
            | Self::NoNode { what, .. }
            | Self::NoVictim { what, .. }
            | Self::SamePod { what, .. }
            | Self::SameName { what, .. } => what,
            Self::Facts(_) => "facts",
        }
    }
}

// === impl World ===

impl World {
    /// The host's view, for all verbs but `preempt`.
    ///
    /// # Errors
    /// If an object is invalid, or names an object that is not there.
    pub fn view(&self) -> Result<View, WorldError> {
        let (pod, cluster) = self.pod_and_cluster()?;
        let slots = match &self.request {
            None => (0..cluster.slots().len() as u32).collect(),
            Some(names) => {
                let slot = |(at, name): (usize, &String)| {
                    cluster.find(name).ok_or_else(|| no_node(&format!("request[{at}]"), name))
                };
                names.iter().enumerate().map(slot).collect::<Result<Vec<u32>, _>>()?
            }
        };
        Ok(self.seeing(View::new(pod, cluster, slots.into(), self.now)))
    }

    /// The same for `preempt`: the nodes are those of the candidates.
    ///
    /// # Errors
    /// As [`World::view`].
    pub fn preempt_view(&self) -> Result<View, WorldError> {
        let (pod, cluster) = self.pod_and_cluster()?;
        let (mut slots, mut candidates) = (vec![], vec![]);
        for (at, proposed) in self.candidates.iter().enumerate() {
            let what = format!("candidates[{at}]");
            let slot = cluster.find(&proposed.node).ok_or_else(|| no_node(&what, &proposed.node))?;
            candidates.push(proposed.resolve(&what, &cluster, slot)?);
            slots.push(slot);
        }
        let view = View::new(pod, cluster, slots.into(), self.now);
        Ok(self.seeing(view).with_candidates(candidates.into()))
    }

    fn seeing(&self, view: View) -> View {
        let names = self.facts.as_object().into_iter().flatten().map(|(name, _)| (name.as_str(), name.as_str()));
        let view = view.with_fact_access(Arc::new(FactAccess::new(names, AbsentFacts::Default)));
        if self.without_cluster || self.without_pods { view.without_cluster() } else { view }
    }

    /// The pod, and the cluster without it: a pod that is placed already must not stand in its way.
    fn pod_and_cluster(&self) -> Result<(Arc<Pod>, Arc<Cluster>), WorldError> {
        let (pod, cluster) = (self.core_pod()?, self.cluster()?.with_device_classes(self.known_classes()?));
        let facts = if self.facts.is_null() { Ok(Facts::default()) } else { Facts::from_value(&self.facts) };
        let cluster = cluster.with_facts(Arc::new(facts.map_err(WorldError::Facts)?));
        let without = cluster.without(&pod);
        Ok((pod, Arc::new(without.unwrap_or(cluster))))
    }

    fn core_pod(&self) -> Result<Arc<Pod>, WorldError> {
        let pod = Pod::from_json(defaulted("Pod", &self.pod).into());
        pod.map(Arc::new).map_err(|error| WorldError::Object { what: "pod".to_owned(), error })
    }

    fn cluster(&self) -> Result<Cluster, WorldError> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut names: HashSet<Box<str>> = HashSet::with_capacity(self.nodes.len());
        for (at, json) in self.nodes.iter().enumerate() {
            let what = || format!("nodes[{at}]");
            let node = Node::from_json(Bytes::from(defaulted("Node", json)))
                .map_err(|error| WorldError::Object { what: what(), error })?;
            if !names.insert(node.name().as_ref().into()) {
                return Err(WorldError::SameName { what: what(), node: node.name().to_string() });
            }
            nodes.push(node);
        }
        if self.without_pods {
            let slot = |node| Slot { node: Arc::new(node), placed: None };
            let cluster = Cluster::new(nodes.into_iter().map(slot).collect::<Vec<Slot>>());
            return Ok(cluster.with_namespaces(self.known_namespaces()?));
        }
        let mut pods = Vec::with_capacity(self.pods.len());
        let mut pod_names: HashSet<String> = HashSet::with_capacity(self.pods.len());
        for (at, json) in self.pods.iter().enumerate() {
            let what = format!("pods[{at}]");
            let pod = Pod::placed_from_json(defaulted("Pod", json).as_bytes())
                .map_err(|error| WorldError::Object { what: what.clone(), error })?;
            let node = pod.node().unwrap_or_default();
            if !names.contains(node) {
                return Err(no_node(&what, node));
            }
            if !pod.name().is_empty() && !pod_names.insert(full_name(&pod)) {
                return Err(WorldError::SamePod { what, pod: full_name(&pod) });
            }
            pods.push(pod);
        }
        Ok(Cluster::from_objects(nodes, pods).with_namespaces(self.known_namespaces()?))
    }

    fn known_classes(&self) -> Result<Arc<DeviceClasses>, WorldError> {
        let read = |(at, json): (usize, &Value)| {
            DeviceClass::from_json(json.to_string().as_bytes())
                .map_err(|error| WorldError::Object { what: format!("deviceClasses[{at}]"), error })
        };
        let all = self.device_classes.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(DeviceClasses::new(&all)))
    }

    /// By name; none where the world names none.
    fn known_namespaces(&self) -> Result<Option<Namespaces>, WorldError> {
        let read = |(at, json): (usize, &Value)| {
            let namespace = Namespace::from_json(defaulted("Namespace", json).as_bytes());
            let namespace =
                namespace.map_err(|error| WorldError::Object { what: format!("namespaces[{at}]"), error })?;
            Ok((Arc::clone(namespace.name()), Arc::new(namespace)))
        };
        let all = self.namespaces.iter().enumerate().map(read).collect::<Result<_, WorldError>>()?;
        Ok((!self.namespaces.is_empty()).then(|| Arc::new(all)))
    }
}

// === impl ProposedVictims ===

impl ProposedVictims {
    fn resolve(&self, what: &str, cluster: &Cluster, slot: u32) -> Result<Candidate, WorldError> {
        let placed = cluster.slots().get(slot as usize).and_then(|slot| slot.placed.as_ref());
        let pods = placed.map_or(&[][..], |placed| placed.pods());
        let find = |victim: &String| {
            let at = pods.iter().position(|pod| *victim == full_name(pod));
            at.map(|at| at as u32).ok_or_else(|| WorldError::NoVictim {
                what: what.to_owned(),
                node: self.node.clone(),
                victim: victim.clone(),
            })
        };
        let victims = self.victims.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Candidate { victims, pdb_violations: self.pdb_violations })
    }
}

/// The JSON of an object, as the API server would keep it.
fn defaulted(kind: &str, object: &Value) -> String {
    let mut object = object.clone();
    set_defaults(kind, &mut object);
    object.to_string()
}

/// `namespace/name`.
fn full_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace(), pod.name())
}

fn no_node(what: &str, node: &str) -> WorldError {
    WorldError::NoNode { what: what.to_owned(), node: node.to_owned() }
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{NodeRead, PodRead, Read};
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_a_case_get_the_defaults_of_the_api_server() {
        let limits = |cpu: &str| json!([{"name": "c", "resources": {"limits": {"cpu": cpu}}}]);
        let world = World {
            pod: json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"containers": limits("1")}}),
            nodes: vec![json!({"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}}})],
            pods: vec![json!({"metadata": {"name": "q"}, "spec": {"nodeName": "n1", "containers": limits("2")}})],
            namespaces: vec![json!({"metadata": {"name": "web"}})],
            ..World::default()
        };
        let view = world.view().unwrap();
        let read = |read| format!("{:?}", view.read(read).unwrap());
        assert_eq!(read(Read::Pod(PodRead::Request("cpu"))), "Number(1000)");
        assert_eq!(read(Read::Node(0, NodeRead::Allocatable("cpu"))), "Number(4000)");
        assert_eq!(read(Read::Node(0, NodeRead::Requested("cpu"))), "Number(2000)");
        assert_eq!(read(Read::Pod(PodRead::NamespaceLabel("kubernetes.io/metadata.name"))), "Text(\"web\")");
    }
}
