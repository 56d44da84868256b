//! The cluster that everything is measured on, and the bodies that kube-scheduler would send about it.

use bytes::Bytes;
use serde_json::{Value, json};

/// Pools that nodes belong to; the pod's namespace owns the first.
const POOLS: [&str; 4] = ["team-a", "team-b", "shared", "none"];

/// GPUs of nodes; one in five has none.
const GPUS: [Option<&str>; 5] = [Some("16Gi,16Gi"), Some("24Gi,24Gi,24Gi,24Gi"), Some("80Gi"), Some("8Gi,8Gi"), None];

/// Of each node in a snapshot, about as many as matters to policies; a body has whole nodes.
const SNAPSHOT_NODE_BYTES: usize = 2_000;

/// A node of about this many bytes of JSON; real ones have 15,000 to 20,000.
pub(crate) fn node(number: usize, bytes: usize) -> Value {
    let image = |at: usize| {
        let name = format!("registry.example.com/team/app-{}", number % 7 * 3 + at);
        json!({"names": [format!("{name}@sha256:{at:064x}"), format!("{name}:1.{at}")], "sizeBytes": 100_000_000 + at})
    };
    // The images of a node are most of it.
    let images: Vec<Value> = (0..bytes.saturating_sub(1_300) / 190).map(image).collect();
    let mut annotations = json!({"volumes.kubernetes.io/controller-managed-attach-detach": "true",
                                 "example.com/npu-devices": "32Gi"});
    if let Some(gpus) = GPUS[number % GPUS.len()] {
        annotations["example.com/gpu-devices"] = json!(gpus);
    }
    json!({
        "metadata": {
            "name": name(number), "uid": format!("{number:08x}-1111-2222-3333-444444444444"),
            "labels": {
                "kubernetes.io/hostname": name(number), "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
                "example.com/pool": POOLS[number % POOLS.len()],
                "example.com/tier": if number % 10 == 9 { "bronze" } else { "silver" },
                "node.kubernetes.io/instance-type": "m5.4xlarge",
            },
            "annotations": annotations,
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

/// The pod of every call but those with a pod unlike any before.
pub(crate) fn pod() -> Value {
    pod_of("team-a", "web", "registry.example.com/team/app-3:1.3", "4Gi", "1Gi")
}

/// A pod whose namespace, label, image and memory no policy has ever seen.
pub(crate) fn unseen_pod(number: usize) -> Value {
    let image = format!("registry.example.com/unseen/app-{number}:1.0");
    let (gpu, npu) = (format!("{}Mi", 2048 + number), format!("{}Mi", 1024 + number));
    pod_of(&format!("namespace-{number}"), &format!("app-{number}"), &image, &gpu, &npu)
}

fn pod_of(namespace: &str, app: &str, image: &str, gpu: &str, npu: &str) -> Value {
    json!({
        "metadata": {"name": format!("{app}-7d4b9c-x2x4z"), "namespace": namespace, "labels": {"app": app},
                     "uid": "11111111-2222-3333-4444-555555555555",
                     "annotations": {"example.com/gpu-mem": gpu, "example.com/npu-mem": npu}},
        "spec": {"containers": [
            {"name": "main", "image": image, "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
            {"name": "proxy", "image": "registry.example.com/team/app-9:1.0"}]},
    })
}

/// The pods placed on a node: none, one or two, each with a part of a GPU.
fn placed(node: usize) -> impl Iterator<Item = Value> {
    (0..node % 3).map(move |at| {
        json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": format!("placed-{node}-{at}"), "namespace": "team-a", "labels": {"app": "web"},
                         "uid": format!("{node:08x}-{at:04x}-2222-3333-444444444444"),
                         "annotations": {"example.com/gpu-mem": "2Gi", "example.com/gpu-device": "0"}},
            "spec": {"nodeName": name(node), "containers": [
                {"name": "main", "image": "registry.example.com/team/app-3:1.3",
                 "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]},
            "status": {"phase": "Running"},
        })
    })
}

/// A node as a snapshot or an API server has it.
pub(crate) fn listed_node(number: usize) -> Value {
    listed_node_of(number, SNAPSHOT_NODE_BYTES)
}

/// The same, of about this many bytes.
pub(crate) fn listed_node_of(number: usize, bytes: usize) -> Value {
    let mut node = node(number, bytes);
    node["kind"] = json!("Node");
    node["apiVersion"] = json!("v1");
    node
}

/// The pods placed on this many nodes.
pub(crate) fn placed_on(nodes: usize) -> impl Iterator<Item = Value> {
    (0..nodes).flat_map(placed)
}

/// A snapshot file's text.
pub(crate) fn snapshot(nodes: usize) -> String {
    let items = (0..nodes).map(listed_node).chain(placed_on(nodes));
    json!({"kind": "List", "apiVersion": "v1", "items": items.collect::<Vec<_>>()}).to_string()
}

/// `ExtenderArgs` that name nodes.
pub(crate) fn names_body(nodes: usize) -> Bytes {
    names_body_of(&pod(), 0..nodes)
}

pub(crate) fn names_body_of(pod: &Value, nodes: impl IntoIterator<Item = usize>) -> Bytes {
    let names: Vec<String> = nodes.into_iter().map(name).collect();
    json!({"Pod": pod, "Nodes": null, "NodeNames": names}).to_string().into()
}

/// `ExtenderArgs` with whole nodes, of about this many bytes in all.
pub(crate) fn objects_body(nodes: usize, bytes: usize) -> Bytes {
    let items: Vec<Value> = (0..nodes).map(|number| node(number, bytes / nodes)).collect();
    json!({"Pod": pod(), "Nodes": {"metadata": {}, "items": items}, "NodeNames": null}).to_string().into()
}
