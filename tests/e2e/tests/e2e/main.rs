//! The service that users get: pods created through a real API server, scheduled by a real kube-scheduler.
#![allow(clippy::unwrap_used, reason = "a step that fails fails its test")]

mod admission;
mod burst;
mod chart;
mod deadlock;
mod demo;
mod extenders;
mod gangs;
mod landing;
#[cfg(feature = "nightly")]
mod languages;
mod leader;
mod measured_load;
mod outage;
mod preemption;
mod profiles;
mod rbac;
mod scores;
mod seats;
mod stdio;
mod tls;
mod volumes;
mod wake;
mod watching;

use std::{fs, path::Path};

use plimsoll_e2e::{ControlPlane, node};
use plimsoll_harness::{guest, policies};
use serde_json::json;

/// Six nodes: two in each zone, one of them in the pool of team-a and one shared.
pub(crate) fn with_nodes() -> ControlPlane {
    let cluster = ControlPlane::start().unwrap();
    populate(&cluster);
    cluster
}

/// The nodes of [`with_nodes`], and the namespaces of the pods.
pub(crate) fn populate(cluster: &ControlPlane) {
    for zone in ["a", "b", "c"] {
        cluster.create_node(&node(&format!("shared-{zone}"), zone, "shared")).unwrap();
        cluster.create_node(&node(&format!("team-a-{zone}"), zone, "team-a")).unwrap();
    }
    for namespace in ["web", "team-a"] {
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).unwrap();
    }
}

/// A directory with `tenant-pool`, and with `zone-drain` that keeps pods off zone c.
pub(crate) fn lay_policies(directory: &Path) {
    for file in ["tenant-pool.wasm", "tenant-pool.yaml"] {
        fs::copy(policies().join(file), directory.join(file)).unwrap();
    }
    fs::copy(guest("zone_drain_v1"), directory.join("zone-drain.wasm")).unwrap();
}
