//! Fine scores on a real scheduler: a difference of 1 in 100 decides, ties are broken as asked for, and a group counts as
//! much as before beside the scheduler's own plugins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use plimsoll_e2e::{ControlPlane, minor, node, pod};
use plimsoll_harness::{TempDir, guest, tempdir, wait_until};
use serde_json::{Value, json};

/// Pods for each question about equal or nearly equal nodes.
const PODS: usize = 30;

/// Group and scheduler profile, the nodes of its pods, the best of them, and the score of the best; others have 10.
fn groups() -> [(&'static str, &'static str, &'static str, u32); 4] {
    // For the scheduler's own plugins `big` is better than `small` by 22 points of NodeResourcesFit, and by points of
    // NodeResourcesBalancedAllocation: 11, or 21 before 1.36. The groups prefer `small` by less and by more.
    let (weak, strong) = if minor() < 36 { (50, 60) } else { (40, 50) };
    [
        ("near", "[even-a, even-b]", "even-b", 11),
        ("equal", "[even-a, even-b]", "even-b", 10),
        ("weak", "[big, small]", "small", weak),
        ("strong", "[big, small]", "small", strong),
    ]
}

/// All groups, as profiles.
const PROFILES: &str = "near,equal,weak,strong";

fn lay_groups() -> TempDir {
    let policies = tempdir().unwrap();
    for (group, only, best, points) in groups() {
        let folder = policies.path().join(group);
        fs::create_dir(&folder).unwrap();
        fs::copy(guest("machines"), folder.join("machines.wasm")).unwrap();
        let sidecar = format!(
            "match: {{schedulerNames: [{group}]}}\n\
             settings: {{only: {only}, best: {best}, points: {points}, mark: none}}\n"
        );
        fs::write(folder.join("machines.yaml"), sidecar).unwrap();
    }
    policies
}

/// Two nodes that are equal, and two of which the scheduler prefers one.
fn populate(cluster: &ControlPlane) {
    for (name, cpu) in [("even-a", "8192m"), ("even-b", "8192m"), ("big", "8"), ("small", "1")] {
        let mut node = node(name, "a", "shared");
        for key in ["capacity", "allocatable"] {
            node["status"][key]["cpu"] = cpu.into();
        }
        cluster.create_node(&node).unwrap();
    }
}

fn mk_pod(name: &str, profile: &str, cpu: &str, memory: &str) -> Value {
    let requests = json!({"cpu": cpu, "memory": memory});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}});
    pod("default", name, cpu, &json!({"schedulerName": profile, "containers": [container]}))
}

/// The number of [`PODS`] pods of a profile that each node gets; then they are deleted.
fn placed(cluster: &ControlPlane, round: &str, profile: &str) -> BTreeMap<String, usize> {
    let pods: Vec<Value> = (0..PODS)
        .map(|number| {
            // 2^-13 of the node's cores and of its memory: the plugins that count resources score both nodes alike to
            // the last bit, however many such pods they have.
            let mut pod = mk_pod(&format!("{round}-{profile}-{number}"), profile, "1m", "4Mi");
            pod["metadata"]["labels"] = json!({"asked": format!("{round}-{profile}")});
            pod
        })
        .collect();
    cluster.create(&json!({"apiVersion": "v1", "kind": "List", "items": pods})).unwrap();
    let selector = format!("asked={round}-{profile}");
    let names = || {
        let path = "jsonpath={.items[*].spec.nodeName}";
        let nodes = cluster.kubectl(&["get", "pods", "-l", &selector, "-o", path]).ok()?;
        let nodes: Vec<String> = nodes.split_whitespace().map(str::to_owned).collect();
        (nodes.len() == PODS).then_some(nodes)
    };
    let mut counts = BTreeMap::new();
    for node in wait_until(&format!("the pods of {profile} to be bound"), names).unwrap() {
        *counts.entry(node).or_default() += 1;
    }
    cluster.kubectl(&["delete", "pods", "-l", &selector, "--grace-period=0", "--force"]).unwrap();
    counts
}

/// Where a pod goes that is deleted again.
fn place_of(cluster: &ControlPlane, round: &str, profile: &str) -> String {
    let name = format!("{round}-{profile}");
    cluster.create(&mk_pod(&name, profile, "500m", "1Mi")).unwrap();
    let node = cluster.node_of("default", &name).unwrap();
    cluster.kubectl(&["delete", "pod", &name, "--grace-period=0", "--force"]).unwrap();
    node
}

fn only(node: &str) -> BTreeMap<String, usize> {
    BTreeMap::from([(node.to_owned(), PODS)])
}

#[test]
fn fine_scores_decide_by_one_point_and_count_as_much_as_before() {
    let (cluster, policies) = (ControlPlane::start().unwrap(), lay_groups());
    populate(&cluster);
    let gateway = cluster.gateway_with_kubeconfig(policies.path(), &["--no-bind"]).unwrap();
    let schedule = |fine: &[&str]| {
        let args = [&["--no-bind", "--profile", PROFILES][..], fine].concat();
        cluster.schedule_with(gateway.wire, policies.path(), &args).unwrap()
    };

    let coarse = schedule(&[]);
    for profile in ["near", "equal"] {
        // Both have 1 of 10, and the scheduler throws a coin: 30 times the same side has a probability of 2^-29.
        assert_eq!(placed(&cluster, "coarse", profile).len(), 2, "{profile}");
    }
    assert_eq!(place_of(&cluster, "coarse", "weak"), "big");
    assert_eq!(place_of(&cluster, "coarse", "strong"), "small");
    drop(coarse);

    let fine = schedule(&["--fine-scores", PROFILES]);
    assert_eq!(placed(&cluster, "fine", "near"), only("even-b"));
    assert_eq!(placed(&cluster, "fine", "equal").len(), 2);
    assert_eq!(place_of(&cluster, "fine", "weak"), "big");
    assert_eq!(place_of(&cluster, "fine", "strong"), "small");
    drop(fine);

    // Every scale in one configuration; that of `strong` is the coarse one.
    let _mixed = schedule(&["--fine-scores", "near,equal=name,weak=spread"]);
    assert_eq!(placed(&cluster, "mixed", "near"), only("even-b"));
    assert_eq!(placed(&cluster, "mixed", "equal"), only("even-a"));
    assert_eq!(place_of(&cluster, "mixed", "weak"), "big");
    assert_eq!(place_of(&cluster, "mixed", "strong"), "small");
}

#[test]
fn every_plugin_that_has_a_weight_gets_a_higher_one() {
    let (cluster, policies) = (ControlPlane::start().unwrap(), lay_groups());
    let weights = |args: &[&str]| weights(&cluster.complete_config(policies.path(), args).unwrap());
    let (before, after) = (weights(&["--no-bind"]), weights(&["--no-bind", "--fine-scores", "near"]));
    let weighted = |weights: &BTreeMap<String, u64>| weights.values().filter(|weight| **weight > 0).count();
    for (name, weight) in before.iter().filter(|(_, weight)| **weight > 0) {
        assert_eq!(after.get(name), Some(&(1_000 * weight)), "{name}");
    }
    // `VolumeBinding` has 0 in the list, which stands for 1. `DynamicResources` does not score before 1.35, and is not in
    // the list before 1.34.
    let mut unweighted = vec![("VolumeBinding", 1_000)];
    unweighted.extend((minor() < 35).then_some(("DynamicResources", 2_000)));
    assert_eq!(weighted(&before), 9 - unweighted.len(), "{before:?}");
    for (name, weight) in &unweighted {
        assert_eq!((before.get(*name).unwrap_or(&0), after.get(*name)), (&0, Some(weight)));
    }
    assert_eq!(weighted(&after), weighted(&before) + unweighted.len(), "{after:?}");
    let names: BTreeSet<&str> =
        before.keys().map(String::as_str).chain(unweighted.iter().map(|(name, _)| *name)).collect();
    assert!(after.keys().eq(names), "{after:?}");
}

/// The plugins that a profile has at all its extension points, with their weights.
fn weights(config: &str) -> BTreeMap<String, u64> {
    let plugins = config.split_once("multiPoint:").unwrap().1.split_once("permit:").unwrap().0;
    let entry = |entry: &str| {
        let (name, weight) = entry.split_once("weight:").unwrap();
        (name.trim().to_owned(), weight.trim().parse().unwrap())
    };
    plugins.split("- name:").skip(1).map(entry).collect()
}
