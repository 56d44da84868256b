//! kube-scheduler has no event for a policy: plimsoll makes it try again the pods that one has rejected.

use std::fs;

use plimsoll_e2e::pod;
use plimsoll_harness::tempdir;
use serde_json::json;

use crate::{lay_policies, with_nodes};

#[test]
fn a_rejected_pod_is_bound_as_soon_as_its_policy_is_off_and_nothing_else_happens() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    let object = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "plimsoll-wake", "namespace": "default"},
        "storageClassName": "plimsoll-wake",
    });
    cluster.create(&object).unwrap();
    lay_policies(policies.path());
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--no-bind"]).unwrap();
    let scheduler = cluster.schedule_with(gateway.wire, policies.path(), &["--no-bind"]).unwrap();
    let in_zone_c = json!({"nodeSelector": {"topology.kubernetes.io/zone": "c"}});
    cluster.create(&pod("web", "p", "1", &in_zone_c)).unwrap();
    let failure = cluster.failure_of("web", "p").unwrap();
    assert!(failure.contains("zone-drain"), "{failure}");
    fs::write(policies.path().join("zone-drain.yaml"), "mode: off\n").unwrap();
    // Without a wake it takes five minutes.
    let wait = ["wait", "-n", "web", "pod/p", "--for=jsonpath={.spec.nodeName}=shared-c", "--timeout=30s"];
    cluster.kubectl(&wait).unwrap_or_else(|error| panic!("{error}: {:#?}", gateway.log()));
    let server = format!("--server=https://{}", scheduler.port.address());
    let of_scheduler =
        ["get", "--raw=/metrics", &server, "--insecure-skip-tls-verify", "--kubeconfig=/dev/null", "--token=any"];
    let metrics = cluster.kubectl(&of_scheduler).unwrap();
    let queued = |event: &str| {
        let is_of = |line: &&str| line.starts_with("scheduler_queue_incoming_pods_total") && line.contains(event);
        metrics.lines().filter(is_of).count()
    };
    assert_eq!((queued("UnschedulableTimeout"), queued("CSIStorageCapacityUpdate")), (0, 1), "{metrics}");
}
