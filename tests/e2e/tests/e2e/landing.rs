//! Policies decide where pods land, and say so where they do not.

use std::fs;

use plimsoll_e2e::pod;
use plimsoll_harness::{Plimsoll, guest, tempdir};
use serde_json::{Value, json};

use crate::{lay_policies, with_nodes};

#[test]
fn policies_decide_where_pods_land_in_names_mode() {
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    let (policies, snapshot) = (directory.path().join("policies"), directory.path().join("cluster.json"));
    fs::create_dir(&policies).unwrap();
    lay_policies(&policies);
    cluster.write_snapshot(&snapshot).unwrap();
    let gateway =
        Plimsoll::serve(&policies, &["--no-compile-cache", "--snapshot", snapshot.to_str().unwrap()]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, &policies, &[]).unwrap();
    all_land_where_they_may(&cluster);
}

#[test]
fn policies_decide_where_pods_land_in_full_node_mode() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = Plimsoll::serve(policies.path(), &["--no-compile-cache"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &["--full-nodes"]).unwrap();
    all_land_where_they_may(&cluster);
}

#[test]
fn a_pod_that_nobody_takes_says_which_policy_and_why_until_the_policy_is_mended() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = Plimsoll::serve(policies.path(), &["--no-compile-cache"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &["--full-nodes"]).unwrap();
    cluster.create(&pod("web", "stuck", "100m", &in_zone("c"))).unwrap();
    let message = cluster.failure_of("web", "stuck").unwrap();
    for reason in ["1 tenant-pool: node is in another tenant's pool", "1 zone-drain: zone c is being drained"] {
        assert!(message.contains(reason), "{message}");
    }
    fs::remove_file(policies.path().join("zone-drain.wasm")).unwrap();
    gateway.wait_for_log("the policy to be gone", |line| line["message"] == "policy removed").unwrap();
    // kube-scheduler tries a pod again when a node changes.
    cluster.kubectl(&["label", "node", "shared-c", "mended=yes"]).unwrap();
    assert_eq!(cluster.node_of("web", "stuck").unwrap(), "shared-c");
}

/// zone-drain keeps pods off zone c; the policy that takes its place in the directory keeps them off zone a.
#[test]
fn a_policy_dropped_into_the_directory_frees_pending_pods_and_a_bad_one_changes_nothing() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    lay_policies(policies.path());
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &[]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    for number in 0..5 {
        cluster.create(&pod("web", &format!("stuck-{number}"), "100m", &in_zone("c"))).unwrap();
    }
    let message = cluster.failure_of("web", "stuck-4").unwrap();
    assert!(message.contains("zone-drain: zone c is being drained"), "{message}");
    let module = policies.path().join("zone-drain.wasm");

    fs::write(policies.path().join("unfinished"), b"\0asm and nothing that makes sense").unwrap();
    fs::rename(policies.path().join("unfinished"), &module).unwrap();
    let kept = "policy refused: its last good version stays in force";
    gateway.wait_for_log("the refusal", |line| line["message"] == kept).unwrap();
    cluster.create(&pod("web", "still-stuck", "100m", &in_zone("c"))).unwrap();
    let message = cluster.failure_of("web", "still-stuck").unwrap();
    assert!(message.contains("zone-drain: zone c is being drained"), "{message}");

    fs::copy(guest("zone_drain_v2"), policies.path().join("unfinished")).unwrap();
    fs::rename(policies.path().join("unfinished"), &module).unwrap();
    let version = |line: &Value| line["message"] == "policy loaded" && line["version"] == 2;
    gateway.wait_for_log("the new version", version).unwrap();
    // kube-scheduler tries a pod that failed again when a node changes.
    cluster.kubectl(&["label", "node", "shared-c", "changed=yes"]).unwrap();
    for name in (0..5).map(|number| format!("stuck-{number}")).chain(["still-stuck".to_owned()]) {
        assert_eq!(cluster.node_of("web", &name).unwrap(), "shared-c");
    }
}

fn in_zone(zone: &str) -> Value {
    json!({"nodeSelector": {"topology.kubernetes.io/zone": zone}})
}

pub(crate) fn all_land_where_they_may(cluster: &plimsoll_e2e::ControlPlane) {
    let table: [(&str, &[&str]); 2] =
        [("web", &["shared-a", "shared-b"]), ("team-a", &["shared-a", "shared-b", "team-a-a", "team-a-b"])];
    for (namespace, _) in table {
        for number in 0..6 {
            cluster.create(&pod(namespace, &format!("pod-{number}"), "100m", &Value::Null)).unwrap();
        }
    }
    for (namespace, allowed) in table {
        for number in 0..6 {
            let node = cluster.node_of(namespace, &format!("pod-{number}")).unwrap();
            assert!(allowed.contains(&node.as_str()), "{namespace}/pod-{number} is on {node}");
        }
    }
}
