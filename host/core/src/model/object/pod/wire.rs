//! The fields of a Pod's JSON that policies can read, and the sums of its containers.

use std::{borrow::Cow, collections::HashSet};

use serde::Deserialize;

use super::super::{Quantities, Sums, image, metadata::MetadataJson};

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
    containers: Option<Vec<ContainerJson<'a>>>,
    #[serde(borrow)]
    init_containers: Option<Vec<ContainerJson<'a>>>,
    overhead: Quantities,
    resources: Option<ResourcesJson>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ContainerJson<'a> {
    #[serde(borrow)]
    image: Option<Cow<'a, str>>,
    #[serde(borrow)]
    restart_policy: Option<Cow<'a, str>>,
    resources: Option<ResourcesJson>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ResourcesJson {
    requests: Quantities,
    limits: Quantities,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct StatusJson<'a> {
    #[serde(borrow)]
    pub(super) phase: Option<Cow<'a, str>>,
}

// === impl SpecJson ===

impl SpecJson<'_> {
    /// The resources that the pod requests of a node.
    ///
    /// Containers and sidecars run together; each init container runs beside the sidecars before it;
    /// pod-level requests replace the sum; overhead comes on top.
    /// Source: `PodRequests` in `k8s.io/component-helpers/resource`.
    pub(super) fn effective_requests(&self) -> Quantities {
        let mut running = Sums::default();
        for container in self.containers.iter().flatten() {
            for (name, amount) in container.requests() {
                running.add(name, amount);
            }
        }
        let mut sidecars = Sums::default();
        let mut starting = Sums::default();
        for container in self.init_containers.iter().flatten() {
            // Only the resources that it names can raise the maximum: the sidecars before it have raised the others.
            for (name, amount) in container.requests() {
                if container.restart_policy.as_deref() == Some("Always") {
                    running.add(name, amount);
                    starting.raise(name, sidecars.add(name, amount));
                } else {
                    starting.raise(name, sidecars.get(name).saturating_add(amount));
                }
            }
        }
        starting.iter().for_each(|(name, amount)| running.raise(name, amount));
        if let Some(resources) = &self.resources {
            running.replace_all(&resources.requests);
        }
        running.add_all(&self.overhead);
        running.into()
    }

    /// Every resource that a container names in requests or limits.
    pub(super) fn named_resources(&self) -> Quantities {
        let mut named = Sums::default();
        for resources in self.all_containers().filter_map(|container| container.resources.as_ref()) {
            for (name, amount) in resources.limits.iter().chain(resources.requests.iter()) {
                named.raise(name, amount);
            }
        }
        named.into()
    }

    pub(super) fn images(&self) -> Box<[Box<str>]> {
        let mut seen = HashSet::new();
        let images = self.all_containers().filter_map(|container| container.image.as_deref());
        images.map(image::normalized).filter(|name| seen.insert(name.clone())).map(Into::into).collect()
    }

    fn all_containers(&self) -> impl Iterator<Item = &ContainerJson<'_>> {
        self.init_containers.iter().flatten().chain(self.containers.iter().flatten())
    }
}

// === impl ContainerJson ===

impl ContainerJson<'_> {
    fn requests(&self) -> impl Iterator<Item = (&str, i64)> {
        self.resources.iter().flat_map(|resources| resources.requests.iter())
    }
}
