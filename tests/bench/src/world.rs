//! The cluster that everything is measured on, and the bodies that kube-scheduler would send about it.

use bytes::Bytes;
use serde_json::{Value, json};

/// Pools that nodes belong to; the pod's namespace owns the first.
const POOLS: [&str; 4] = ["team-a", "team-b", "shared", "none"];

/// A node of about this many bytes of JSON; real ones have 15,000 to 20,000.
pub(crate) fn node(number: usize, bytes: usize) -> Value {
    let pool = POOLS[number % POOLS.len()];
    let zone = format!("zone-{}", number % 3);
    let image = |at: usize| {
        let name = format!("registry.example.com/team/app-{at}");
        json!({"names": [format!("{name}@sha256:{at:064x}"), format!("{name}:1.{at}")], "sizeBytes": 100_000_000 + at})
    };
    // The images of a node are most of it.
    let images: Vec<Value> = (0..bytes.saturating_sub(1_100) / 190).map(image).collect();
    json!({
        "metadata": {
            "name": name(number), "uid": format!("{number:08x}-1111-2222-3333-444444444444"),
            "labels": {
                "kubernetes.io/hostname": name(number), "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": zone, "example.com/pool": pool,
                "node.kubernetes.io/instance-type": "m5.4xlarge",
            },
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": format!("example:///{number}")},
        "status": {
            "allocatable": {"cpu": "15890m", "memory": "60Gi", "pods": "110", "ephemeral-storage": "95Gi"},
            "capacity": {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "images": images,
        },
    })
}

pub(crate) fn name(number: usize) -> String {
    format!("ip-10-{}-{}.example.internal", number / 250, number % 250)
}

pub(crate) fn pod() -> Value {
    json!({
        "metadata": {"name": "web-7d4b9c-x2x4z", "namespace": "team-a", "uid": "11111111-2222-3333-4444-555555555555",
                     "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example.com/team/app-3:1.3",
                                 "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
    })
}

/// A snapshot file's text: nodes without pods.
pub(crate) fn snapshot(nodes: usize) -> String {
    let items = (0..nodes).map(|number| {
        let mut node = node(number, 2_000);
        node["kind"] = json!("Node");
        node["apiVersion"] = json!("v1");
        node
    });
    json!({"kind": "List", "apiVersion": "v1", "items": items.collect::<Vec<_>>()}).to_string()
}

/// `ExtenderArgs` that name nodes.
pub(crate) fn names_body(nodes: usize) -> Bytes {
    let names: Vec<String> = (0..nodes).map(name).collect();
    json!({"Pod": pod(), "Nodes": null, "NodeNames": names}).to_string().into()
}

/// `ExtenderArgs` with whole nodes, of about this many bytes in all.
pub(crate) fn objects_body(nodes: usize, bytes: usize) -> Bytes {
    let items: Vec<Value> = (0..nodes).map(|number| node(number, bytes / nodes)).collect();
    json!({"Pod": pod(), "Nodes": {"metadata": {}, "items": items}, "NodeNames": null}).to_string().into()
}
