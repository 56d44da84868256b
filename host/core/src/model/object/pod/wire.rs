//! The fields of a Pod's JSON that policies can read, and the sums of its containers.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use hashbrown::HashMap;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::super::{Amounts, Claim, Quantities, image, metadata::MetadataJson};

/// A host port on every address of its node.
const ANY_IP: &str = "0.0.0.0";

#[derive(Deserialize)]
pub(super) struct PodJson<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: MetadataJson<'a>,
    #[serde(borrow, default)]
    pub(super) spec: SpecJson<'a>,
    #[serde(borrow, default)]
    pub(super) status: StatusJson<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SpecJson<'a> {
    #[serde(borrow)]
    pub(super) node_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) scheduler_name: Option<Cow<'a, str>>,
    pub(super) priority: Option<i32>,
    #[serde(borrow)]
    pub(super) priority_class_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) affinity: Option<&'a RawValue>,
    #[serde(borrow)]
    scheduling_group: Option<SchedulingGroupJson<'a>>,
    #[serde(borrow)]
    containers: Option<Vec<ContainerJson<'a>>>,
    #[serde(borrow)]
    init_containers: Option<Vec<ContainerJson<'a>>>,
    #[serde(borrow)]
    overhead: Amounts<'a>,
    #[serde(borrow)]
    resources: Option<ResourcesJson<'a>>,
    #[serde(borrow)]
    volumes: Option<Vec<VolumeJson<'a>>>,
    resource_claims: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SchedulingGroupJson<'a> {
    #[serde(borrow)]
    pod_group_name: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct VolumeJson<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    persistent_volume_claim: Option<ClaimVolumeJson<'a>>,
    ephemeral: Option<IgnoredAny>,
    #[serde(borrow)]
    image: Option<ImageVolumeJson<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ImageVolumeJson<'a> {
    #[serde(borrow)]
    reference: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ClaimVolumeJson<'a> {
    #[serde(borrow)]
    claim_name: Cow<'a, str>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ContainerJson<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    image: Option<Cow<'a, str>>,
    #[serde(borrow)]
    restart_policy: Option<Cow<'a, str>>,
    #[serde(borrow)]
    resources: Option<ResourcesJson<'a>>,
    ports: Option<Vec<HostPort>>,
}

/// A port of a node that a container listens on; TCP and all addresses of the node unless it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostPort {
    #[serde(rename = "hostPort")]
    port: i32,
    #[serde(rename = "hostIP")]
    ip: Option<Box<str>>,
    protocol: Option<Box<str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResourcesJson<'a> {
    #[serde(borrow)]
    requests: Option<Amounts<'a>>,
    #[serde(borrow)]
    limits: Option<Amounts<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusJson<'a> {
    #[serde(borrow)]
    pub(super) phase: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) nominated_node_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    conditions: Option<Vec<ConditionJson<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<ContainerStatusJson<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<ContainerStatusJson<'a>>>,
    #[serde(borrow)]
    resources: Option<ResourcesJson<'a>>,
    #[serde(borrow)]
    allocated_resources: Option<Amounts<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ConditionJson<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatusJson<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    /// What the node has admitted.
    #[serde(borrow)]
    allocated_resources: Option<Amounts<'a>>,
    /// What the container has.
    #[serde(borrow)]
    resources: Option<ResourcesJson<'a>>,
}

// === impl PodJson ===

impl PodJson<'_> {
    /// The resources that the pod requests of a node.
    ///
    /// A placed pod holds the largest of what its spec asks for, what its node has admitted, and what it has; a spec that
    /// its node has refused for good does not count. Pod-level requests replace the sum of the containers, and overhead
    /// comes on top.
    /// Source: `PodRequests` in `k8s.io/component-helpers/resource` 0.37. Up to 1.36 kube-scheduler takes the maximum for
    /// each container, so it counts more while one container grows and another one shrinks.
    pub(super) fn effective_requests(&self, is_placed: bool) -> Quantities {
        let unplaced = StatusJson::default();
        let (spec, status) = (&self.spec, if is_placed { &self.status } else { &unplaced });
        let is_infeasible = status.is_resize_infeasible();
        let mut requests = spec.sum(|container| container.held(None, is_infeasible)[0]);
        let actual = status.resources.as_ref();
        let of_pod = [status.allocated_resources.as_ref(), actual.and_then(|actual| actual.requests.as_ref())];
        if let [Some(allocated), Some(actual)] = of_pod {
            requests.raise_all(allocated);
            requests.raise_all(actual);
        } else {
            let by_name = status.by_container();
            for at in if by_name.is_empty() { 0..0 } else { 1..3 } {
                let status = |container: &ContainerJson<'_>| by_name.get(container.name.as_ref()).copied();
                requests.raise_all(&spec.sum(|container| container.held(status(container), is_infeasible)[at]));
            }
        }
        let pod_level = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
        if let Some(pod_level) = pod_level.filter(|amounts| amounts.iter().any(|(name, _)| is_pod_level(name))) {
            let mut effective = Amounts::default();
            if actual.is_none() || !is_infeasible {
                effective.raise_all(pod_level);
            }
            if actual.is_some() {
                of_pod.into_iter().flatten().for_each(|amounts| effective.raise_all(amounts));
            }
            effective
                .iter()
                .filter(|(name, _)| is_pod_level(name))
                .for_each(|(name, amount)| requests.set(name, amount));
        }
        for (name, amount) in self.spec.overhead.iter() {
            requests.add(name, amount);
        }
        requests.into()
    }

    /// The claims that its volumes name; that of an ephemeral volume is made from the volume's name and the pod's.
    pub(super) fn volume_claims(&self) -> Box<[Claim]> {
        let claim = |volume: &VolumeJson<'_>| {
            let own = || volume.ephemeral.map(|_| Cow::Owned(format!("{}-{}", self.metadata.name, volume.name)));
            let name = volume.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.clone()).or_else(own)?;
            Some(Claim::unbound(self.metadata.namespace(), &name))
        };
        self.spec.volumes.iter().flatten().filter_map(claim).collect()
    }
}

// === impl SpecJson ===

impl<'a> SpecJson<'a> {
    /// The pod's group (Kubernetes 1.37, `GenericWorkload`).
    pub(super) fn pod_group(&self) -> Option<Arc<str>> {
        let name = self.scheduling_group.as_ref()?.pod_group_name.as_deref()?;
        (!name.is_empty()).then(|| name.into())
    }

    /// Containers and sidecars run together; each init container runs beside the sidecars before it.
    fn sum<'s>(&'s self, of: impl Fn(&'s ContainerJson<'a>) -> Option<&'s Amounts<'a>>) -> Amounts<'a> {
        let mut running = Amounts::default();
        for (name, amount) in self.containers.iter().flatten().filter_map(&of).flat_map(Amounts::iter) {
            running.add(name, amount);
        }
        let (mut sidecars, mut starting) = (Amounts::default(), Amounts::default());
        for container in self.init_containers.iter().flatten() {
            // Only the resources that it names can raise the maximum: the sidecars before it have raised the others.
            for (name, amount) in of(container).into_iter().flat_map(Amounts::iter) {
                if container.is_sidecar() {
                    running.add(name, amount);
                    starting.raise(name, sidecars.add(name, amount));
                } else {
                    starting.raise(name, sidecars.get(name) + amount);
                }
            }
        }
        running.raise_all(&starting);
        running
    }

    /// Every resource that a container names in requests or limits.
    pub(super) fn named_resources(&self) -> Quantities {
        let mut named = Amounts::default();
        for resources in self.all_containers().filter_map(|container| container.resources.as_ref()) {
            [&resources.limits, &resources.requests].into_iter().flatten().for_each(|amounts| named.raise_all(amounts));
        }
        named.into()
    }

    /// Those of the containers that run as long as the pod.
    pub(super) fn host_ports(&self) -> Arc<[HostPort]> {
        let sidecars = self.init_containers.iter().flatten().filter(|container| container.is_sidecar());
        let ports =
            sidecars.chain(self.containers.iter().flatten()).flat_map(|container| container.ports.iter().flatten());
        let ports: Vec<HostPort> = ports.filter(|port| port.port > 0).cloned().collect();
        if ports.is_empty() { Arc::default() } else { ports.into() }
    }

    pub(super) fn has_resource_claims(&self) -> bool {
        self.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty())
    }

    pub(super) fn images(&self) -> Box<[Box<str>]> {
        let mut seen = HashSet::new();
        let of_containers = self.all_containers().filter_map(|container| container.image.as_deref());
        // As `sumImageScores` of kube-scheduler's ImageLocality.
        let of_volumes = self.volumes.iter().flatten().filter_map(|volume| volume.image.as_ref()?.reference.as_deref());
        of_containers
            .chain(of_volumes)
            .map(image::normalized)
            .filter(|name| seen.insert(name.clone()))
            .map(Into::into)
            .collect()
    }

    fn all_containers(&self) -> impl Iterator<Item = &ContainerJson<'_>> {
        self.init_containers.iter().flatten().chain(self.containers.iter().flatten())
    }
}

// === impl ContainerJson ===

impl<'a> ContainerJson<'a> {
    fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }

    /// What its spec asks for, what its node has admitted, and what it has.
    fn held<'s>(
        &'s self,
        status: Option<&'s ContainerStatusJson<'a>>,
        is_infeasible: bool,
    ) -> [Option<&'s Amounts<'a>>; 3] {
        let requests = |resources: &'s Option<ResourcesJson<'a>>| resources.as_ref()?.requests.as_ref();
        let asked = if is_infeasible { None } else { requests(&self.resources) };
        let allocated = status.and_then(|status| status.allocated_resources.as_ref()).or(asked);
        let actual = status.and_then(|status| requests(&status.resources)).or(allocated);
        [asked, allocated, actual]
    }
}

// === impl HostPort ===

impl HostPort {
    /// Whether two pods with these ports cannot be on one node.
    pub fn conflicts(&self, other: &Self) -> bool {
        let [own_ip, other_ip] = [self.ip(), other.ip()];
        self.port == other.port
            && self.protocol() == other.protocol()
            && (own_ip == other_ip || own_ip == ANY_IP || other_ip == ANY_IP)
    }

    fn ip(&self) -> &str {
        self.ip.as_deref().filter(|ip| !ip.is_empty()).unwrap_or(ANY_IP)
    }

    fn protocol(&self) -> &str {
        self.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP")
    }
}

// === impl StatusJson ===

impl<'a> StatusJson<'a> {
    /// Whether the node has refused for good to resize the pod to its spec.
    fn is_resize_infeasible(&self) -> bool {
        self.condition("PodResizePending").is_some_and(|condition| condition.reason.as_deref() == Some("Infeasible"))
    }

    /// Whether the last attempt to schedule the pod, or the last one that failed, has found no node.
    pub(super) fn is_unschedulable(&self) -> bool {
        self.condition("PodScheduled").is_some_and(|condition| {
            condition.status.as_deref() == Some("False") && condition.reason.as_deref() == Some("Unschedulable")
        })
    }

    fn condition(&self, kind: &str) -> Option<&ConditionJson<'a>> {
        self.conditions.iter().flatten().find(|condition| condition.r#type == kind)
    }

    fn by_container(&self) -> HashMap<&str, &ContainerStatusJson<'a>> {
        let all = self.init_container_statuses.iter().chain(&self.container_statuses).flatten();
        all.map(|status| (status.name.as_ref(), status)).collect()
    }
}

/// Whether pod-level requests can name the resource.
pub(in super::super) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}
