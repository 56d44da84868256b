use std::collections::BTreeMap;

use plimsoll_policy::testing::{PodBuilder, World, node, pod, run_cases, settings};
use plimsoll_random::Random;

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
    let wanted = |name, memory| pod(name).annotation("example.com/gpu-mem", memory);
    let taken = wanted("first", "10Gi").annotation("example.com/gpu-device", "0").on("node-1");
    let fits = |memory| {
        let world = World::new(wanted("p", memory)).node(node("node-1").annotation("example.com/gpu-devices", "16Gi"));
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

#[test]
fn bind_gives_what_filter_promised_and_no_device_more_than_it_has() {
    for seed in 1..=40 {
        let mut random = Random::new(seed);
        let mut number = |below: u64| random.below(below);
        let sizes: Vec<u64> = (0..=number(4)).map(|_| 4 * (1 + number(6))).collect();
        let list: Vec<String> = sizes.iter().map(|size| format!("{size}Gi")).collect();
        let node = || node("node-1").annotation("example.com/gpu-devices", &list.join(","));
        let mut on_node = vec![];
        let mut taken: BTreeMap<usize, u64> = BTreeMap::new();
        for at in 0..30 {
            let memory = 1 + number(10);
            let asking = || {
                let pod = pod(&format!("p{at}"));
                let quantity = format!("{memory}Gi");
                if at % 2 == 0 {
                    pod.annotation("example.com/gpu-mem", &quantity)
                } else {
                    pod.request("example.com/gpu-mem", &quantity)
                }
            };
            let world = on_node
                .iter()
                .fold(World::new(asking()).node(node()), |world, pod: &PodBuilder| world.placed(pod.clone()));
            let fits = world.filter(&policy(), "node-1") == Verdict::Fits;
            let bound = world.bind(&policy(), "node-1");
            assert_eq!(fits, bound.is_ok(), "seed {seed}, pod {at}");
            let Ok(given) = bound else {
                let free = |(device, size): (usize, &u64)| size - taken.get(&device).unwrap_or(&0);
                assert!(sizes.iter().enumerate().map(free).all(|free| free < memory), "seed {seed}, pod {at}");
                continue;
            };
            let device = given.annotations().iter().find(|given| given.key == "example.com/gpu-device").unwrap();
            let device: usize = device.value.parse().unwrap();
            let full = taken.entry(device).or_default();
            *full += memory;
            assert!(*full <= sizes[device], "seed {seed}, pod {at}: {full} of {}", sizes[device]);
            assert_eq!(u64::from(world.score(&policy(), "node-1")), *full * 100 / sizes[device]);
            let placed =
                given.annotations().iter().fold(asking(), |pod, given| pod.annotation(&given.key, &given.value));
            on_node.push(placed.on("node-1"));
        }
        assert!(!on_node.is_empty());
    }
}
