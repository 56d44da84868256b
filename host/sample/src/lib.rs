//! The sample cluster: 200 nodes in three zones and four pools, and 1,000 pods on them; and a stream of pods to place.
//!
//! It is computed, not stored: the same every time, and small in the binary. A real API server accepts it without
//! the pods' priorities, which it sets by priority class.

mod pods;

use serde_json::{Value, json};

pub use pods::{pod, stream};

/// The number of nodes in the sample cluster.
pub const NODES: u32 = 200;

/// The number of pods placed on them.
pub const PODS: u32 = 1_000;

/// The namespaces of all pods.
pub const NAMESPACES: [&str; 4] = ["team-a", "team-b", "web", "ml"];

/// 2026-01-01T00:00:00Z: the age of everything in the sample cluster.
const CREATED: &str = "2026-01-01T00:00:00Z";

/// The cluster as `kubectl get nodes,pods -A -o json` would print it.
pub fn cluster() -> Value {
    list((0..NODES).map(node).chain((0..PODS).map(placed_pod)))
}

/// Objects as one that kubectl takes.
pub fn list(objects: impl IntoIterator<Item = Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": objects.into_iter().collect::<Vec<_>>()})
}

/// The zone of a node of the sample cluster.
pub fn zone(node: u32) -> &'static str {
    ["a", "b", "c"][node as usize % 3]
}

fn pool(node: u32) -> &'static str {
    match node {
        0..60 => "shared",
        60..110 => "team-a",
        110..160 => "team-b",
        _ => "gpu",
    }
}

/// The name of a node of the sample cluster.
pub fn node_name(node: u32) -> String {
    format!("node-{node:03}")
}

/// A node of the sample cluster.
pub fn node(at: u32) -> Value {
    let (zone, pool) = (zone(at), pool(at));
    let mut allocatable = json!({"cpu": "15890m", "memory": "62Gi", "ephemeral-storage": "95Gi", "pods": "110"});
    let mut annotations = json!({"node.alpha.kubernetes.io/ttl": "0"});
    let mut labels = json!({
        "kubernetes.io/hostname": node_name(at),
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": "sample",
        "topology.kubernetes.io/zone": zone,
        "example.com/pool": pool,
    });
    let mut taints = Value::Null;
    if pool == "gpu" {
        labels["example.com/gpu"] = "true".into();
        allocatable["example.com/gpu-mem"] = "32Gi".into();
        annotations["example.com/gpu-devices"] = "16Gi,16Gi".into();
        taints = json!([{"key": "example.com/gpu", "effect": "PreferNoSchedule"}]);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name(at),
            "uid": format!("00000000-0000-4000-8000-{at:012}"),
            "creationTimestamp": CREATED,
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"taints": taints},
        "status": {"allocatable": allocatable, "capacity": allocatable, "images": images(at)},
    })
}

/// Every app has left its image where it ran.
fn images(node: u32) -> Value {
    let apps = ["api", "store", "train", "site", "batch"];
    let here = apps.iter().enumerate().filter(|(app, _)| (node as usize + app).is_multiple_of(apps.len() - app / 2));
    let image = |(at, app): (usize, &&str)| {
        let size = 90_000_000 + 70_000_000 * at as u64;
        json!({"names": [format!("registry.example.com/{app}:1.0")], "sizeBytes": size})
    };
    here.map(image).collect()
}

/// A pod that is placed on a node of the sample cluster.
pub fn placed_pod(at: u32) -> Value {
    // A stride that has no factor with 200 spreads the pods over all nodes.
    let node = at.wrapping_mul(77) % NODES;
    let (namespace, app) = match pool(node) {
        "team-a" => ("team-a", ["api", "store"][at as usize % 2]),
        "team-b" => ("team-b", ["api", "batch"][at as usize % 2]),
        "gpu" => ("ml", "train"),
        _ => ("web", "site"),
    };
    let mut pod = pod(namespace, app, at);
    let name = format!("{app}-{at:04}");
    pod["metadata"]["name"] = name.as_str().into();
    pod["metadata"]["uid"] = format!("10000000-0000-4000-8000-{at:012}").into();
    pod["metadata"]["creationTimestamp"] = CREATED.into();
    pod["spec"]["nodeName"] = node_name(node).into();
    pod["status"] = json!({"phase": "Running"});
    if namespace == "ml" {
        // Five pods a node on two devices of 16Gi: on every fourth node both are nearly full.
        let size = ["2Gi", "3Gi", "4Gi", "5Gi"][node as usize % 4];
        pod["metadata"]["annotations"]["example.com/gpu-device"] = (at / NODES % 2).to_string().into();
        pod["metadata"]["annotations"]["example.com/gpu-mem"] = size.into();
        for kind in ["requests", "limits"] {
            pod["spec"]["containers"][0]["resources"][kind]["example.com/gpu-mem"] = size.into();
        }
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_cluster_is_what_kubectl_would_print() {
        let list = cluster();
        assert_eq!(list["kind"], "List");
        assert_eq!(list["items"].as_array().map(Vec::len), Some((NODES + PODS) as usize));
    }
}
