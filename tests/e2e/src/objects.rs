//! Nodes and pods for the tests.

use serde_json::{Value, json};

/// A node that is ready, with 8 cores, in a zone and a pool.
pub fn node(name: &str, zone: &str, pool: &str) -> Value {
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone, "example.com/pool": pool}},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A pod that asks for some cores; `changes` goes into its spec.
pub fn pod(namespace: &str, name: &str, cpu: &str, changes: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            // Without a kubelet nobody would confirm a graceful end.
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": cpu}}}],
        },
    });
    for (key, value) in changes.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}
