use plimsoll_policy::testing::{World, node, pod, run_cases, settings};

use super::*;

fn policy() -> GpuBinpack {
    settings("null").unwrap()
}

#[test]
fn every_case_holds() {
    run_cases::<GpuBinpack>("cases");
}

#[test]
fn a_device_is_never_given_more_than_it_has() {
    let wanted = |memory| pod("p").annotation("example.com/gpu-mem", memory);
    let taken = wanted("10Gi").annotation("example.com/gpu-device", "0").on("node-1");
    let fits = |memory| {
        let world = World::new(wanted(memory)).node(node("node-1").annotation("example.com/gpu-devices", "16Gi"));
        world.placed(taken.clone()).filter(&policy(), "node-1") == Verdict::Fits
    };
    assert!(fits("6Gi"));
    assert!(!fits("6145Mi"));
}

#[test]
fn a_node_of_which_no_pods_are_known_is_taken_as_empty() {
    let world = World::new(pod("p").request("example.com/gpu-mem", "8Gi"))
        .node(node("node-1").annotation("example.com/gpu-devices", "16Gi"));
    assert_eq!(world.score(&policy(), "node-1"), 50);
}
