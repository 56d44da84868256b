//! Preemption evicts nobody in vain.

use std::fs;

use plimsoll_e2e::{ControlPlane, pod};
use plimsoll_harness::{Plimsoll, policies, tempdir};
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
