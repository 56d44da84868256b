//! Pods that wait for volumes that bind late: they are nominated for their nodes, and other pods see them there.

use std::{collections::BTreeSet, fs};

use plimsoll_e2e::{ControlPlane, node, pod, skip_before};
use plimsoll_harness::{tempdir, wait_until};
use serde_json::{Value, json};

/// At most one pod on a node.
const ONE: &str = r#"(module
  (import "plimsoll:policy/placed@0.1.0" "count" (func $count (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 32) "one is there")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (i32.store8 (i32.const 128) (i32.ne (call $count (local.get $node)) (i32.const 0)))
    (i32.store (i32.const 132) (i32.const 32))
    (i32.store (i32.const 136) (i32.const 12))
    (i32.const 128)))"#;

fn object(cluster: &ControlPlane, kind: &str, name: &str) -> Value {
    let text = cluster.kubectl(&["get", kind, name, "-o", "json"]).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn of_six_pods_with_late_volumes_three_get_a_node_each_and_three_are_tied_to_none() {
    if skip_before(35, "nominates no pod that waits for volumes") {
        return;
    }
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    fs::write(policies.path().join("one.wasm"), plimsoll_guests::compile("one", ONE)).unwrap();
    for at in 0..3 {
        let mut node = node(&format!("n{at}"), "a", "shared");
        node["metadata"]["labels"]["kubernetes.io/hostname"] = format!("n{at}").into();
        cluster.create_node(&node).unwrap();
    }
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
        "provisioner": "example.com/nobody", "volumeBindingMode": "WaitForFirstConsumer"});
    cluster.create(&class).unwrap();
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    let mut nominated: Vec<(String, String)> = vec![];
    for at in 0..6 {
        let name = format!("p{at}");
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}}}});
        cluster.create(&claim).unwrap();
        let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]});
        cluster.create(&pod("default", &name, "1", &volumes)).unwrap();
        let fate = || {
            let status = object(&cluster, "pod", &name)["status"].take();
            let is_refused = status["conditions"].to_string().contains("Unschedulable");
            let node = status["nominatedNodeName"].as_str().map(str::to_owned);
            (node.is_some() || is_refused).then_some(node)
        };
        nominated.extend(wait_until("the pod to be nominated or refused", fate).unwrap().map(|node| (name, node)));
        let seen = format!("plimsoll_cluster_pods {}", nominated.len());
        let is_seen = || gateway.get_quickly("/metrics").ok().filter(|page| page.body.contains(&seen)).map(drop);
        wait_until("the gateway to see it", is_seen).unwrap();
    }
    let nodes: BTreeSet<&str> = nominated.iter().map(|(_, node)| node.as_str()).collect();
    assert_eq!((nominated.len(), nodes.len()), (3, 3), "{nominated:?}");
    let is_selected = |at: &usize| {
        let claim = object(&cluster, "pvc", &format!("p{at}"));
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_string()
    };
    let selected = || (0..6).filter(is_selected).count();
    wait_until("the nodes of three volumes", || (selected() == nodes.len()).then_some(())).unwrap();
}
