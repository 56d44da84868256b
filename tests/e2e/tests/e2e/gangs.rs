//! Gangs under a filter that counts: kube-scheduler asks about all members before it binds one.

use std::fs;

use plimsoll_e2e::{ControlPlane, node, pod, skip_before};
use plimsoll_harness::{guest, tempdir, wait_until};
use serde_json::json;

/// Creates a `PodGroup` of four pods, none of which may start without the others.
fn create_gang(cluster: &ControlPlane, gang: &str) {
    let group = json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": gang, "namespace": "default"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}}});
    cluster.create(&group).unwrap();
    let in_gang = json!({"schedulingGroup": {"podGroupName": gang}});
    let member = |at| {
        let mut pod = pod("default", &format!("{gang}-{at}"), "1", &in_gang);
        pod["metadata"]["labels"] = json!({"gang": gang, "limited": "yes"});
        pod
    };
    let members: Vec<_> = (0..4).map(member).collect();
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": members})).unwrap();
}

#[test]
fn a_gang_is_bound_whole_where_a_filter_that_counts_lets_it_and_else_not_at_all() {
    if skip_before(37, "has no PodGroup in beta") {
        return;
    }
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    fs::copy(guest("at_most"), policies.path().join("one.wasm")).unwrap();
    fs::write(policies.path().join("one.yaml"), "settings: {label: limited, on_node: 1}\n").unwrap();
    for at in 0..6 {
        cluster.create_node(&node(&format!("n{at}"), "a", "shared")).unwrap();
    }
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--lease-namespace", "default"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &[]).unwrap();
    let node_of = |pod| cluster.node_of("default", pod).unwrap_or_else(|error| panic!("{error}: {:#?}", gateway.log()));

    create_gang(&cluster, "fits");
    let mut nodes = ["fits-0", "fits-1", "fits-2", "fits-3"].map(node_of).to_vec();
    nodes.sort();
    nodes.dedup();
    assert_eq!(nodes.len(), 4, "{nodes:?}");

    // Three nodes are left.
    cluster.create_node(&node("n6", "a", "shared")).unwrap();
    create_gang(&cluster, "too-many");
    let tried = ["wait", "podgroup/too-many", "--for=condition=PodGroupInitiallyScheduled=False", "--timeout=1m"];
    let state = || cluster.kubectl(&["get", "podgroups,pods", "-o", "yaml"]);
    wait_until("the gang to be tried", || cluster.kubectl(&tried).ok())
        .unwrap_or_else(|error| panic!("{error}: {:?}\n{:#?}", state(), gateway.log()));
    let bound = ["get", "pods", "--selector=gang=too-many", "-o", "jsonpath={.items[*].spec.nodeName}"];
    assert_eq!(cluster.kubectl(&bound).unwrap(), "");
}
