//! Preemption evicts nobody in vain.

use std::fs;

use plimsoll_e2e::pod;
use plimsoll_harness::{Plimsoll, tempdir};
use serde_json::json;

use crate::{lay_policies, with_nodes};

const NODES: [&str; 6] = ["shared-a", "shared-b", "shared-c", "team-a-a", "team-a-b", "team-a-c"];

/// kube-scheduler offers all six nodes; the filters, asked as if the victims were gone, leave two of them.
#[test]
fn a_policy_that_only_filters_preempts_rightly() {
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    let (policies, snapshot) = (directory.path().join("policies"), directory.path().join("cluster.json"));
    fs::create_dir(&policies).unwrap();
    lay_policies(&policies);
    for (name, value) in [("low", -10), ("high", 1000)] {
        let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value});
        cluster.create(&class).unwrap();
    }
    for node in NODES {
        let bound = json!({"nodeName": node, "priorityClassName": "low"});
        cluster.create(&pod("web", &format!("low-{node}"), "8", &bound)).unwrap();
    }
    cluster.write_snapshot(&snapshot).unwrap();
    let gateway = Plimsoll::serve(&policies, &["--no-cache", "--snapshot", snapshot.to_str().unwrap()]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, &policies, &[]).unwrap();

    cluster.create(&pod("web", "high", "8", &json!({"priorityClassName": "high"}))).unwrap();
    let node = cluster.node_of("web", "high").unwrap();
    assert!(["shared-a", "shared-b"].contains(&node.as_str()), "it is on {node}");
    let left = cluster.kubectl(&["get", "pods", "-n", "web", "-o", "jsonpath={.items[*].metadata.name}"]).unwrap();
    let left: Vec<&str> = left.split(' ').filter(|name| name.starts_with("low-")).collect();
    assert_eq!(left.len(), NODES.len() - 1, "exactly one pod is evicted: {left:?}");
    assert!(!left.contains(&format!("low-{node}").as_str()), "{left:?}");
}
