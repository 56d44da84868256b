//! The sample cluster: 200 nodes in three zones and four pools, and 1,000 pods on them.
//!
//! It is computed, not stored: the same every time, and small in the binary.

use bytes::Bytes;
use plimsoll_core::{Cluster, Node, Pod};
use serde_json::{Value, json};

/// How many nodes the sample cluster has.
pub(crate) const NODES: u32 = 200;

/// How many pods are placed on them.
const PODS: u32 = 1_000;

/// 2026-01-01T00:00:00Z: the age of everything in the sample cluster.
const CREATED: &str = "2026-01-01T00:00:00Z";

/// The sample cluster as policies read it.
pub(crate) fn cluster() -> Cluster {
    // Our own objects; a test proves that each of them can be read.
    let nodes = (0..NODES).filter_map(|at| Node::from_json(text(&node(at))).ok()).collect();
    let pods = (0..PODS).filter_map(|at| Pod::placed_from_json(&text(&placed_pod(at))).ok()).collect();
    Cluster::from_objects(nodes, pods)
}

/// The same as `kubectl get nodes,pods -A -o json` would print it.
pub(crate) fn cluster_json() -> Value {
    let nodes = (0..NODES).map(node).zip(std::iter::repeat("Node"));
    let pods = (0..PODS).map(placed_pod).zip(std::iter::repeat("Pod"));
    let item = |(mut object, kind): (Value, &str)| {
        object["apiVersion"] = "v1".into();
        object["kind"] = kind.into();
        object
    };
    json!({"apiVersion": "v1", "kind": "List", "items": nodes.chain(pods).map(item).collect::<Vec<_>>()})
}

/// A pod to try policies with.
pub(crate) fn pod() -> Pod {
    Pod::from_json(text(&super::pods::pod("team-a", "api", 0))).unwrap_or_default()
}

/// The zone of a node of the sample cluster.
pub(crate) fn zone(node: u32) -> &'static str {
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

pub(super) fn node_name(node: u32) -> String {
    format!("node-{node:03}")
}

fn node(at: u32) -> Value {
    let (zone, pool) = (zone(at), pool(at));
    let mut allocatable = json!({"cpu": "15890m", "memory": "62Gi", "ephemeral-storage": "95Gi", "pods": "110"});
    let mut annotations = json!({"node.alpha.kubernetes.io/ttl": "0"});
    let mut taints = Value::Null;
    if pool == "gpu" {
        allocatable["example.com/gpu-mem"] = "32Gi".into();
        annotations["example.com/gpu-devices"] = "16Gi,16Gi".into();
        taints = json!([{"key": "example.com/gpu", "effect": "PreferNoSchedule"}]);
    }
    json!({
        "metadata": {
            "name": node_name(at),
            "uid": format!("00000000-0000-4000-8000-{at:012}"),
            "creationTimestamp": CREATED,
            "labels": {
                "kubernetes.io/hostname": node_name(at),
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/region": "sample",
                "topology.kubernetes.io/zone": zone,
                "example.com/pool": pool,
            },
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

fn placed_pod(at: u32) -> Value {
    // A stride that has no factor with 200 spreads the pods over all nodes.
    let node = at.wrapping_mul(77) % NODES;
    let (namespace, app) = match pool(node) {
        "team-a" => ("team-a", ["api", "store"][at as usize % 2]),
        "team-b" => ("team-b", ["api", "batch"][at as usize % 2]),
        "gpu" => ("ml", "train"),
        _ => ("web", "site"),
    };
    let mut pod = super::pods::pod(namespace, app, at);
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
        pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu-mem"] = size.into();
    }
    pod
}

fn text(object: &Value) -> Bytes {
    Bytes::from(object.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_of_the_sample_cluster_can_be_read() {
        let cluster = cluster();
        assert_eq!(cluster.slots().len(), NODES as usize);
        assert_eq!(cluster.pod_count(), PODS as usize);
        assert_eq!(pod().namespace(), "team-a");
    }

    #[test]
    fn the_sample_cluster_is_what_kubectl_would_print() {
        let list = cluster_json();
        assert_eq!(list["kind"], "List");
        assert_eq!(list["items"].as_array().map(Vec::len), Some((NODES + PODS) as usize));
    }
}
