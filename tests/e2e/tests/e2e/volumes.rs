//! Pods that wait for volumes that bind late: they are nominated for their nodes, and other pods see them there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, iter,
};

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

const CLASS: &str = "local";

fn object(cluster: &ControlPlane, kind: &str, name: &str) -> Value {
    let text = cluster.kubectl(&["get", kind, name, "-o", "json"]).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn patch(cluster: &ControlPlane, what: &[&str], patch: &Value) {
    let patch = patch.to_string();
    cluster.kubectl(&[&["patch"], what, &["--type=merge", "--patch", &patch]].concat()).unwrap();
}

fn create_all(cluster: &ControlPlane, items: &[Value]) {
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": items})).unwrap();
}

/// A local volume of a node.
fn volume(name: &str, node: &str) -> Value {
    let on_node = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
    let affinity = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}});
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": CLASS,
            "local": {"path": "/disk"}, "nodeAffinity": affinity}})
}

/// The claims that kube-scheduler has given a volume, with it.
fn claimed_volumes(cluster: &ControlPlane) -> BTreeMap<String, String> {
    let list: Value = serde_json::from_str(&cluster.kubectl(&["get", "pv", "-o", "json"]).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let claimed = |pv: &Value| Some((text(&pv["spec"]["claimRef"]["name"])?, text(&pv["metadata"]["name"])?));
    list["items"].as_array().unwrap().iter().filter_map(claimed).collect()
}

/// Completes a binding as the controller of volumes does, as far as kube-scheduler waits for it.
fn bind_claim(cluster: &ControlPlane, claim: &str, volume: &str) {
    let done = json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
    patch(cluster, &["pvc", claim], &json!({"metadata": {"annotations": done}, "spec": {"volumeName": volume}}));
}

/// Each wait is for one condition and ends after 60 s at the latest; kube-scheduler asks once a second whether a claim is
/// bound.
#[test]
fn of_six_pods_with_local_volumes_three_run_on_a_node_each_and_three_wait_without_a_volume() {
    if skip_before(35, "nominates no pod that waits for volumes") {
        return;
    }
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    fs::write(policies.path().join("one.wasm"), plimsoll_guests::compile("one", ONE)).unwrap();
    let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"});
    cluster.create(&class).unwrap();
    for at in 0..3 {
        let name = format!("n{at}");
        let mut node = node(&name, "a", "shared");
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name.as_str().into();
        cluster.create_node(&node).unwrap();
    }
    // Two on each node, so that a pod which is let in wrongly finds one. The controller of volumes makes them available.
    let names: Vec<String> = (0..6).map(|at| format!("v{at}")).collect();
    let volumes: Vec<Value> = (0..6).map(|at| volume(&names[at], &format!("n{}", at % 3))).collect();
    create_all(&cluster, &volumes);
    let which: Vec<&str> = iter::once("pv").chain(names.iter().map(String::as_str)).collect();
    patch(&cluster, &[&which[..], &["--subresource=status"]].concat(), &json!({"status": {"phase": "Available"}}));
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    // A bind that fails before would give its place up, and another pod would take it.
    gateway.wait_for_log("the gateway to bind", |line| line["message"] == "this gateway leads").unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    let mut nominated: BTreeMap<String, String> = BTreeMap::new();
    for at in 0..6 {
        let name = format!("p{at}");
        let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS, "resources": {"requests": {"storage": "1Gi"}}}});
        let volumes = json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]});
        create_all(&cluster, &[claim, pod("default", &name, "1", &volumes)]);
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
    let nodes: BTreeSet<&String> = nominated.values().collect();
    assert_eq!((nominated.len(), nodes.len()), (3, 3), "{nominated:?}");
    let claimed = || Some(claimed_volumes(&cluster)).filter(|claimed| claimed.len() == nominated.len());
    for (claim, volume) in wait_until("three volumes to be claimed", claimed).unwrap() {
        bind_claim(&cluster, &claim, &volume);
    }
    for (pod, node) in &nominated {
        assert_eq!(cluster.node_of("default", pod).unwrap(), *node, "{pod}");
    }
    assert!(claimed_volumes(&cluster).keys().eq(nominated.keys()), "the pods that wait are tied to no node");
}
