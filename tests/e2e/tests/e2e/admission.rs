//! Pods that the default scheduler would place reach plimsoll's: `deploy/require-scheduler.yaml` and
//! `deploy/set-scheduler.yaml` on a real API server.

mod nominate;

use std::fs;

use plimsoll_e2e::{ControlPlane, pod, skip_before};
use plimsoll_harness::{tempdir, wait_until, workspace};
use serde_json::json;

const SCHEDULER: &str = "plimsoll-scheduler";

#[test]
fn a_pod_that_names_another_scheduler_or_its_node_is_refused() {
    let cluster = with_namespaces();
    apply(&cluster, "require-scheduler.yaml");
    let create =
        |name: &str, spec| cluster.create(&pod("ruled", name, "1", &spec)).map_err(|error| format!("{error:#}"));
    // The API server compiles a policy some time after it has stored it.
    let mut attempt = 0;
    let error = wait_until("the policy to be in force", || {
        attempt += 1;
        create(&format!("web-{attempt}"), json!({})).err()
    })
    .unwrap();
    assert!(error.contains("need `schedulerName: plimsoll-scheduler`"), "{error}");
    let error = create("placed", json!({"schedulerName": SCHEDULER, "nodeName": "node-1"})).unwrap_err();
    assert!(error.contains("may not set `nodeName`"), "{error}");
    create("ours", json!({"schedulerName": SCHEDULER})).unwrap();
    // The mirror of a static pod.
    let (directory, mirror) = (tempdir().unwrap(), pod("ruled", "static", "1", &json!({"nodeName": "node-1"})));
    let file = directory.path().join("mirror.json");
    fs::write(&file, mirror.to_string()).unwrap();
    let kubelet = ["--as=system:node:node-1", "--as-group=system:nodes"];
    cluster.kubectl(&["create", "-f", file.to_str().unwrap(), kubelet[0], kubelet[1]]).unwrap();
    cluster.create(&pod("free", "others", "1", &json!({}))).unwrap();
}

#[test]
fn a_pod_gets_the_scheduler_of_its_namespace() {
    if skip_before(36, "has no stable MutatingAdmissionPolicy") {
        return;
    }
    let cluster = with_namespaces();
    apply(&cluster, "set-scheduler.yaml");
    let mut attempt = 0;
    let scheduler_of = |namespace: &str, name: &str| {
        cluster.kubectl(&["get", "pod", "-n", namespace, name, "-o", "jsonpath={.spec.schedulerName}"]).unwrap()
    };
    wait_until("the policy to be in force", || {
        attempt += 1;
        let name = format!("web-{attempt}");
        cluster.create(&pod("ruled", &name, "1", &json!({}))).unwrap();
        (scheduler_of("ruled", &name) == SCHEDULER).then_some(())
    })
    .unwrap();
    cluster.create(&pod("free", "others", "1", &json!({}))).unwrap();
    cluster.create(&pod("ruled", "placed", "1", &json!({"nodeName": "node-1"}))).unwrap();
    for (namespace, name) in [("free", "others"), ("ruled", "placed")] {
        assert_eq!(scheduler_of(namespace, name), "default-scheduler");
    }
}

/// An API server with the namespace `ruled`, whose label both policies select, and `free`.
fn with_namespaces() -> ControlPlane {
    let cluster = ControlPlane::start().unwrap();
    for (name, labels) in [("ruled", json!({"scheduler": SCHEDULER})), ("free", json!({}))] {
        let metadata = json!({"name": name, "labels": labels});
        cluster.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
    }
    cluster
}

fn apply(cluster: &ControlPlane, file: &str) {
    let file = workspace().join("deploy").join(file);
    cluster.kubectl(&["apply", "--server-side", "--validate=strict", "-f", file.to_str().unwrap()]).unwrap();
}
