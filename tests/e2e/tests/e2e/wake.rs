//! kube-scheduler has no event for a policy, and asks about a deleted pod's place before plimsoll has seen that it is free:
//! plimsoll makes it try again the pods that were rejected.

use std::fs;

use plimsoll_e2e::pod;
use plimsoll_harness::{guest, tempdir, wait_until};
use serde_json::json;

use crate::{lay_policies, with_nodes};

#[test]
fn a_rejected_pod_is_bound_as_soon_as_its_policy_is_off_or_the_pod_in_its_place_is_gone() {
    let (cluster, policies) = (with_nodes(), tempdir().unwrap());
    let object = json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "plimsoll-wake", "namespace": "default"},
        "storageClassName": "plimsoll-wake",
    });
    cluster.create(&object).unwrap();
    lay_policies(policies.path());
    fs::copy(guest("at_most"), policies.path().join("one.wasm")).unwrap();
    fs::write(policies.path().join("one.yaml"), "settings: {label: limited, on_node: 1}\n").unwrap();
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--no-bind"]).unwrap();
    let scheduler = cluster.schedule_with(gateway.wire, policies.path(), &["--no-bind"]).unwrap();
    let in_zone = |zone: &str| json!({"nodeSelector": {"topology.kubernetes.io/zone": zone}});
    cluster.create(&pod("web", "p", "1", &in_zone("c"))).unwrap();
    let failure = cluster.failure_of("web", "p").unwrap();
    assert!(failure.contains("zone-drain"), "{failure}");
    fs::write(policies.path().join("zone-drain.yaml"), "mode: off\n").unwrap();
    // Without a wake it takes five minutes, and `node_of` waits for one.
    let node_of = |pod| cluster.node_of("web", pod).unwrap_or_else(|error| panic!("{error}: {:#?}", gateway.log()));
    assert_eq!(node_of("p"), "shared-c");

    let limited = |name| {
        let mut pod = pod("web", name, "1", &in_zone("a"));
        pod["metadata"]["labels"]["limited"] = "yes".into();
        cluster.create(&pod).unwrap();
    };
    limited("first");
    assert_eq!(node_of("first"), "shared-a");
    let is_seen = || gateway.get("/metrics").ok().filter(|page| page.body.contains("plimsoll_cluster_pods 2\n"));
    wait_until("the gateway to see it", is_seen).unwrap();
    limited("second");
    let failure = cluster.failure_of("web", "second").unwrap();
    assert!(failure.contains("the node has its pods"), "{failure}");
    cluster.kubectl(&["delete", "pod", "-n", "web", "first"]).unwrap();
    assert_eq!(node_of("second"), "shared-a");
    let server = format!("--server=https://{}", scheduler.port.address());
    let of_scheduler =
        ["get", "--raw=/metrics", &server, "--insecure-skip-tls-verify", "--kubeconfig=/dev/null", "--token=any"];
    let metrics = cluster.kubectl(&of_scheduler).unwrap();
    assert!(metrics.contains("scheduler_queue_incoming_pods_total"), "{metrics}");
    assert!(!metrics.contains("UnschedulableTimeout"), "{metrics}");
}
