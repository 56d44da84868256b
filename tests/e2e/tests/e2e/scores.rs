//! Fine scores on a real scheduler: a difference of 1 in 100 decides, ties are broken as asked for, and a group counts as
//! much as before beside the scheduler's own plugins.

use std::{collections::BTreeMap, fs, path::Path};

use plimsoll_e2e::{ControlPlane, node, pod};
use plimsoll_harness::{TempDir, guest, tempdir, wait_until};
use serde_json::{Value, json};

/// Pods for each question about equal or nearly equal nodes.
const PODS: usize = 30;

/// Group and scheduler profile, the nodes of its pods, the best of them, and the score of the best; others have 10.
const GROUPS: [(&str, &str, &str, u32); 4] = [
    ("near", "[even-a, even-b]", "even-b", 11),
    ("equal", "[even-a, even-b]", "even-b", 10),
    // For the scheduler's own plugins `big` is better than `small` by about 40 points.
    ("weak", "[big, small]", "small", 30),
    ("strong", "[big, small]", "small", 70),
];

/// All groups, as profiles.
const PROFILES: &str = "near,equal,weak,strong";

fn lay_groups() -> TempDir {
    let policies = tempdir().unwrap();
    for (group, only, best, points) in GROUPS {
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

fn populate(cluster: &ControlPlane) {
    for name in ["even-a", "even-b", "big"] {
        cluster.create_node(&node(name, "a", "shared")).unwrap();
    }
    let mut small = node("small", "a", "shared");
    (small["status"]["capacity"]["cpu"], small["status"]["allocatable"]["cpu"]) = ("1".into(), "1".into());
    cluster.create_node(&small).unwrap();
}

/// A pod of a profile. Small ones do not change the scores of the scheduler's own plugins, which are whole numbers.
fn mk_pod(name: &str, profile: &str, cpu: &str) -> Value {
    let requests = json!({"cpu": cpu, "memory": "1Mi"});
    let container = json!({"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": requests}});
    pod("default", name, cpu, &json!({"schedulerName": profile, "containers": [container]}))
}

/// How many of [`PODS`] pods of a profile each node gets; then they are deleted.
fn placed(cluster: &ControlPlane, round: &str, profile: &str) -> BTreeMap<String, usize> {
    let pods: Vec<Value> = (0..PODS)
        .map(|number| {
            let mut pod = mk_pod(&format!("{round}-{profile}-{number}"), profile, "1m");
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
    println!("{round} {profile}: {counts:?}");
    counts
}

/// Where a pod goes that is deleted again.
fn place_of(cluster: &ControlPlane, round: &str, profile: &str) -> String {
    let name = format!("{round}-{profile}");
    cluster.create(&mk_pod(&name, profile, "500m")).unwrap();
    let node = cluster.node_of("default", &name).unwrap();
    cluster.kubectl(&["delete", "pod", &name, "--grace-period=0", "--force"]).unwrap();
    println!("{round} {profile}: {node}");
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
        cluster.schedule_with(gateway.wire, Path::new(policies.path()), &args).unwrap()
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
