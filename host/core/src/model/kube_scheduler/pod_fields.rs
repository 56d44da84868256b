//! The fields of the pod being scheduled that kube-scheduler's filters read.

use serde::{Deserialize, de::IgnoredAny};

use super::{node_affinity::NodeSelector, toleration::Toleration, topology_spread::Constraint};
use crate::model::{AffinityTerm, Entries, ObjectError, Pod, Required, parse};

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodJson {
    spec: PodFields,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodFields {
    pub(super) tolerations: Option<Vec<Toleration>>,
    pub(super) node_selector: Entries,
    pub(super) affinity: Option<Affinity>,
    pub(super) topology_spread_constraints: Option<Vec<Constraint>>,
    containers: Option<Vec<Container>>,
    init_containers: Option<Vec<Container>>,
    volumes: Option<Vec<Volume>>,
    resource_claims: Option<Vec<IgnoredAny>>,
    scheduling_gates: Option<Vec<IgnoredAny>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Affinity {
    #[serde(rename = "nodeAffinity")]
    pub(super) node: Option<Required<NodeSelector>>,
    #[serde(rename = "podAffinity")]
    pub(super) near: Option<Required<Vec<AffinityTerm>>>,
    #[serde(rename = "podAntiAffinity")]
    pub(super) apart: Option<Required<Vec<AffinityTerm>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    restart_policy_rules: Option<Vec<RestartRule>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RestartRule {
    action: Box<str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    persistent_volume_claim: Option<IgnoredAny>,
    ephemeral: Option<IgnoredAny>,
}

// === impl PodFields ===

impl PodFields {
    /// Those of a pod; none of a placed one.
    pub(super) fn of(pod: &Pod) -> Result<Self, ObjectError> {
        let read = |json| parse::<PodJson>("Pod", json).map(|pod| pod.spec);
        pod.json().map_or_else(|| Ok(Self::default()), |json| read(json))
    }

    pub(super) fn has_gates(&self) -> bool {
        !self.scheduling_gates.as_deref().unwrap_or_default().is_empty()
    }

    /// The plugins that are not modelled and that the pod uses.
    ///
    /// Of the features that `NodeDeclaredFeatures` looks for, 1.37 has one without an alpha gate.
    pub(super) fn not_modelled(&self) -> Vec<&'static str> {
        let is_claim = |volume: &Volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
        let mut containers = self.containers.iter().chain(&self.init_containers).flatten();
        let restarts_all = |rule: &RestartRule| *rule.action == *"RestartAllContainers";
        let table = [
            (self.volumes.iter().flatten().any(is_claim), "VolumeBinding"),
            (self.resource_claims.iter().flatten().next().is_some(), "DynamicResources"),
            (
                containers.any(|container| container.restart_policy_rules.iter().flatten().any(restarts_all)),
                "NodeDeclaredFeatures",
            ),
        ];
        table.into_iter().filter(|(is_used, _)| *is_used).map(|(_, plugin)| plugin).collect()
    }
}
