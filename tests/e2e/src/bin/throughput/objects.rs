//! Nodes and pods that every policy has something to say about.

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;

/// The namespace of the pods; a third of the nodes is its own.
pub(crate) const NAMESPACE: &str = "team-a";

const POOLS: [&str; 3] = ["team-a", "team-b", "shared"];

/// One in this many nodes has no GPU.
const WITHOUT_GPU: usize = 7;

pub(crate) fn node(number: usize) -> Result<Node> {
    let gpus =
        if number.is_multiple_of(WITHOUT_GPU) { json!({}) } else { json!({"example.com/gpu-devices": "64Gi,64Gi"}) };
    let resources = json!({"cpu": "32", "memory": "128Gi", "pods": "110"});
    let image = |at: usize| json!({"names": [format!("registry.example.com/app-{at}:1.0")], "sizeBytes": 100_000_000});
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": name(number),
            "labels": {
                "kubernetes.io/hostname": name(number), "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
                "example.com/pool": POOLS[number % POOLS.len()], "example.com/tier": "silver",
            },
            "annotations": gpus,
        },
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": (0..20).map(|at| image(at + number % 10)).collect::<Vec<_>>(),
        },
    }))?)
}

pub(crate) fn name(number: usize) -> String {
    format!("node-{number:05}")
}

/// The same nodes that [`is_allowed`] forbids, by what their numbers leave when they are divided.
pub(crate) const REFUSED: [(usize, usize); 2] = [(POOLS.len(), 1), (WITHOUT_GPU, 0)];

/// Whether the rules let a pod run on the node: not if it is another team's, or has no GPU.
pub(crate) fn is_allowed(node: &str) -> bool {
    let number: Option<usize> = node.strip_prefix("node-").and_then(|number| number.parse().ok());
    number.is_some_and(|number| POOLS[number % POOLS.len()] != "team-b" && !number.is_multiple_of(WITHOUT_GPU))
}

pub(crate) fn pod(name: &str) -> Result<Pod> {
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "labels": {"app": "web"},
            "annotations": {"example.com/gpu-mem": "1Gi"},
        },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.example.com/app-9:1.0",
                            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}],
        },
    }))?)
}
