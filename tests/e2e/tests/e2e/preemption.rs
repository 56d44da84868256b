//! Preemption evicts nobody in vain.

use std::fs;

use plimsoll_e2e::{ControlPlane, pod, skip_before};
use plimsoll_harness::{Plimsoll, guest, policies, tempdir, wait_until};
use serde_json::json;

use crate::{lay_policies, with_nodes};

const NODES: [&str; 6] = ["shared-a", "shared-b", "shared-c", "team-a-a", "team-a-b", "team-a-c"];

#[test]
fn a_policy_that_only_filters_preempts_rightly_in_names_mode() {
    only_the_nodes_of_the_filters_are_freed(&[]);
}

#[test]
fn a_policy_that_only_filters_preempts_rightly_in_full_node_mode() {
    only_the_nodes_of_the_filters_are_freed(&["--full-nodes"]);
}

/// kube-scheduler offers all six nodes; the filters, asked as if the victims were gone, leave two of them.
fn only_the_nodes_of_the_filters_are_freed(args: &[&str]) {
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    let (policies, snapshot) = (directory.path().join("policies"), directory.path().join("cluster.json"));
    fs::create_dir(&policies).unwrap();
    lay_policies(&policies);
    create_priorities(&cluster);
    for node in NODES {
        let bound = json!({"nodeName": node, "priorityClassName": "low"});
        cluster.create(&pod("web", &format!("low-{node}"), "8", &bound)).unwrap();
    }
    cluster.write_snapshot(&snapshot).unwrap();
    let gateway =
        Plimsoll::serve(&policies, &["--no-compile-cache", "--snapshot", snapshot.to_str().unwrap()]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, &policies, args).unwrap();

    cluster.create(&pod("web", "high", "8", &json!({"priorityClassName": "high"}))).unwrap();
    let node = cluster.node_of("web", "high").unwrap();
    assert!(["shared-a", "shared-b"].contains(&node.as_str()), "it is on {node}");
    let left = cluster.kubectl(&["get", "pods", "-n", "web", "-o", "jsonpath={.items[*].metadata.name}"]).unwrap();
    let left: Vec<&str> = left.split(' ').filter(|name| name.starts_with("low-")).collect();
    assert_eq!(left.len(), NODES.len() - 1, "exactly one pod is evicted: {left:?}");
    assert!(!left.contains(&format!("low-{node}").as_str()), "{left:?}");
}

/// Left to itself kube-scheduler evicts the cheapest pod, so that is the one to be guarded.
#[test]
fn preempt_guard_forbids_the_victim_that_the_scheduler_would_choose() {
    let unguarded = cluster_full_of_pods();
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": unguarded.kubeconfig()},
        "leaderElection": {"leaderElect": false},
    });
    let _scheduler = unguarded.start_scheduler(&config.to_string()).unwrap();
    assert_eq!(node_of_the_preemptor(&unguarded), "team-a-b");
    assert_eq!(victims(&unguarded), ["low-team-a-b"]);

    let (guarded, directory) = (cluster_full_of_pods(), tempdir().unwrap());
    fs::copy(policies().join("preempt-guard.wasm"), directory.path().join("preempt-guard.wasm")).unwrap();
    let sidecar = "settings: {protect: {app: low-team-a-b}}\n";
    fs::write(directory.path().join("preempt-guard.yaml"), sidecar).unwrap();
    let gateway = guarded.gateway_with_kubeconfig(directory.path(), &[]).unwrap();
    let _scheduler = guarded.schedule_with(gateway.wire, directory.path(), &[]).unwrap();
    let node = node_of_the_preemptor(&guarded);
    assert_ne!(node, "team-a-b");
    assert_eq!(victims(&guarded), [format!("low-{node}")]);
}

/// Each group has a pod on two nodes. kube-scheduler names both as victims for one of the nodes.
#[test]
fn the_pods_of_a_group_are_evicted_together_or_not_at_all() {
    if skip_before(37, "evicts the pods of a group one by one") {
        return;
    }
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    create_priorities(&cluster);
    fs::copy(policies().join("preempt-guard.wasm"), directory.path().join("preempt-guard.wasm")).unwrap();
    fs::write(directory.path().join("preempt-guard.yaml"), "settings: {protect: {app: shared-b}}\n").unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    for pool in ["shared", "team-a"] {
        let spec = json!({"priorityClassName": "low", "schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}});
        cluster.create(&json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": pool, "namespace": "web"}, "spec": spec})).unwrap();
        for node in [format!("{pool}-a"), format!("{pool}-b")] {
            let bound =
                json!({"nodeName": node, "priorityClassName": "low", "schedulingGroup": {"podGroupName": pool}});
            cluster.create(&pod("web", &node, "8", &bound)).unwrap();
        }
    }
    let gateway = cluster.gateway_with_kubeconfig(directory.path(), &[]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, directory.path(), &["--pod-groups"]).unwrap();
    let preempt = |name: &str, pool: &str| {
        let selector = json!({"example.com/pool": pool, "topology.kubernetes.io/zone": "a"});
        cluster
            .create(&pod("web", name, "8", &json!({"priorityClassName": "high", "nodeSelector": selector})))
            .unwrap();
    };
    preempt("blocked", "shared");
    let failure = cluster.failure_of("web", "blocked").unwrap();
    assert!(failure.contains("no candidate node for preemption"), "the guard protects shared-b: {failure}");
    preempt("high", "team-a");
    assert_eq!(cluster.node_of("web", "high").unwrap(), "team-a-a");
    let names = || cluster.kubectl(&["get", "pods", "-n", "web", "-o", "jsonpath={.items[*].metadata.name}"]).ok();
    let left = wait_until("both pods of the group to be gone", || names().filter(|names| !names.contains("team-a")));
    assert_eq!(left.unwrap(), "blocked high shared-a shared-b");
}

/// Every node is taken by one pod; the one on `team-a-b` has the lowest priority.
fn cluster_full_of_pods() -> ControlPlane {
    let cluster = with_nodes();
    create_priorities(&cluster);
    for node in NODES {
        let class = if node == "team-a-b" { "lowest" } else { "low" };
        let bound = json!({"nodeName": node, "priorityClassName": class});
        cluster.create(&pod("web", &format!("low-{node}"), "8", &bound)).unwrap();
    }
    cluster
}

fn create_priorities(cluster: &ControlPlane) {
    for (name, value) in [("lowest", -20), ("low", -10), ("high", 1000)] {
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value});
        cluster.create(&class).unwrap();
    }
}

fn node_of_the_preemptor(cluster: &ControlPlane) -> String {
    cluster.create(&pod("web", "high", "8", &json!({"priorityClassName": "high"}))).unwrap();
    cluster.node_of("web", "high").unwrap()
}

/// The pods that were there and are gone.
fn victims(cluster: &ControlPlane) -> Vec<String> {
    let left = cluster.kubectl(&["get", "pods", "-n", "web", "-o", "jsonpath={.items[*].metadata.name}"]).unwrap();
    let gone = |name: &String| !left.split(' ').any(|left| left == name);
    NODES.iter().map(|node| format!("low-{node}")).filter(gone).collect()
}
