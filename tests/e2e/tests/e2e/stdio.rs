//! A program on standard input decides, in names mode, where pods of a real kube-scheduler land.

use std::fs;

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_guests::toolchains::go_program;
use plimsoll_harness::tempdir;
use serde_json::{Value, json};

#[test]
fn a_program_in_go_decides_where_pods_land_in_names_mode() {
    let Some(program) = go_program("go-stdio") else { return };
    let (cluster, policies) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    for (name, zone, disk) in [("fast-a", "a", "ssd"), ("slow-a", "a", "hdd"), ("fast-b", "b", "ssd")] {
        let mut node = node(name, zone, "shared");
        node["metadata"]["labels"]["zone"] = zone.into();
        node["metadata"]["labels"]["disk"] = disk.into();
        cluster.create_node(&node).unwrap();
    }
    fs::write(policies.path().join("gpu-zone.wasm"), program).unwrap();
    fs::write(policies.path().join("gpu-zone.yaml"), "stdio: {verbs: [filter, prioritize]}\n").unwrap();
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--no-bind"]).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, policies.path(), &["--no-bind"]).unwrap();
    let create = |name: &str, changes: &Value| {
        let mut pod = pod("default", name, "100m", changes);
        pod["metadata"]["labels"]["team"] = "a".into();
        cluster.create(&pod).unwrap();
    };
    create("free", &Value::Null);
    assert_eq!(cluster.node_of("default", "free").unwrap(), "fast-a");
    create("elsewhere", &json!({"nodeSelector": {"zone": "b"}}));
    let message = cluster.failure_of("default", "elsewhere").unwrap();
    assert!(message.contains("1 gpu-zone: node is not in the zone of team a"), "{message}");
}
