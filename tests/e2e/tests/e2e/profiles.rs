//! One plimsoll for several profiles of a scheduler, with the configuration that `scheduler-config` prints.

use std::{fs, path::Path};

use plimsoll_e2e::pod;
use plimsoll_harness::{Plimsoll, policies, tempdir};
use serde_json::json;

use crate::{lay_policies, with_nodes};

/// A group with a policy for the pods that ask for a resource: its extender manages that resource.
fn lay_group(directory: &Path, name: &str) {
    let group = directory.join(name);
    fs::create_dir(&group).unwrap();
    fs::copy(policies().join("tenant-pool.wasm"), group.join("tenant-pool.wasm")).unwrap();
    let settings = fs::read_to_string(policies().join("tenant-pool.yaml")).unwrap();
    fs::write(group.join("tenant-pool.yaml"), settings + "\nmatch: {resources: [example.com/gpu-mem]}\n").unwrap();
}

#[test]
fn a_policy_for_one_profile_leaves_the_pods_of_others_alone() {
    let (cluster, directory) = (with_nodes(), tempdir().unwrap());
    lay_policies(directory.path());
    fs::write(directory.path().join("zone-drain.yaml"), "match: {schedulerNames: [batch]}\n").unwrap();
    // Two groups with one resource: kube-scheduler would refuse a configuration that names it twice.
    lay_group(directory.path(), "gpu");
    lay_group(directory.path(), "gpu-old");
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let args =
        ["--full-nodes", "--profile", "default-scheduler,batch", "--ignored-by-scheduler", "example.com/gpu-mem"];
    let _scheduler = cluster.schedule_with(gateway.wire, directory.path(), &args).unwrap();
    let in_zone_c =
        |scheduler: &str| json!({"schedulerName": scheduler, "nodeSelector": {"topology.kubernetes.io/zone": "c"}});
    cluster.create(&pod("web", "batch", "100m", &in_zone_c("batch"))).unwrap();
    let message = cluster.failure_of("web", "batch").unwrap();
    assert!(message.contains("1 zone-drain: zone c is being drained"), "{message}");
    cluster.create(&pod("web", "plain", "100m", &in_zone_c("default-scheduler"))).unwrap();
    assert_eq!(cluster.node_of("web", "plain").unwrap(), "shared-c");
}
