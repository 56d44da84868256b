//! The pods that are to be placed.

use serde_json::{Value, json};

/// One pod of an app, as kube-scheduler would send it.
pub fn pod(namespace: &str, app: &str, number: u32) -> Value {
    let (priority, cpu, memory) = match app {
        "batch" => (-10, "2", "4Gi"),
        "store" => (100, "1", "8Gi"),
        _ => (0, "500m", "1Gi"),
    };
    let mut requests = json!({"cpu": cpu, "memory": memory});
    let (mut annotations, mut limits) = (json!({}), json!({}));
    if app == "train" {
        requests["example.com/gpu-mem"] = "6Gi".into();
        // The API server wants limits of an extended resource to equal its requests.
        limits["example.com/gpu-mem"] = "6Gi".into();
        annotations["example.com/gpu-mem"] = "6Gi".into();
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{app}-{number}"),
            "namespace": namespace,
            "uid": format!("20000000-0000-4000-8000-{number:012}"),
            "labels": {"app": app},
            "annotations": annotations,
            "creationTimestamp": null,
        },
        "spec": {
            "priority": priority,
            "containers": [{
                "name": "main",
                "image": format!("registry.example.com/{app}:1.0"),
                "resources": {"requests": requests, "limits": limits},
            }],
        },
        "status": {},
    })
}

/// An endless stream of pods of all tenants, in turn.
pub fn stream() -> impl Iterator<Item = Value> {
    const APPS: [(&str, &str); 6] = [
        ("team-a", "api"),
        ("web", "site"),
        ("ml", "train"),
        ("team-b", "batch"),
        ("team-a", "store"),
        ("web", "site"),
    ];
    (0..).map(|number| {
        let (namespace, app) = APPS[number as usize % APPS.len()];
        pod(namespace, app, number)
    })
}
