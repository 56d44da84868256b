//! `plimsoll test --record`: a bug report becomes a test.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::{policies, tempdir, workspace};
use serde_json::{Value, json};

use crate::{hostile, text};

fn test(directory: &Path, args: &[&str]) -> Printed {
    plimsoll(directory, &[&["test", "--no-compile-cache"][..], args].concat()).unwrap()
}

/// Lays out the pod and the nodes of a recorded request.
fn lay_recording(directory: &Path, name: &str) {
    let file = workspace().join(format!("tests/contract/recordings/{name}.request.json"));
    let mut request: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    request["Pod"]["kind"] = "Pod".into();
    fs::write(directory.join("pod.json"), request["Pod"].to_string()).unwrap();
    let mut nodes = request["Nodes"]["items"].take();
    nodes.as_array_mut().unwrap().iter_mut().for_each(|node| node["kind"] = "Node".into());
    fs::write(directory.join("cluster.json"), json!({"kind": "List", "items": nodes}).to_string()).unwrap();
}

fn module(name: &str) -> String {
    text(&policies().join(format!("{name}.wasm"))).to_owned()
}

/// A cluster as kubectl prints it: three nodes in two zones, with two pods.
fn snapshot() -> Value {
    let node = |name: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": name, "labels": {"zone": zone, "example.com/pool": "x"}, "managedFields": [{}]},
            "status": {"allocatable": {"cpu": "8"}}})
    };
    let pod = |name: &str, node: &str, licence: &str| {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "web", "uid": name, "labels": {"licence": licence, "app": name}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "s3cr3t"}]}]}})
    };
    let items = [node("n1", "a"), node("n2", "b"), node("n3", "a"), pod("p1", "n1", "cad"), pod("p2", "n2", "cad")];
    json!({"kind": "List", "items": items})
}

/// Lays out the snapshot, the pod `p1` as a question, and the module that only likes the zone `a`.
fn lay_out(directory: &Path) {
    let snapshot = snapshot();
    let pod = snapshot["items"].as_array().unwrap().iter().find(|item| item["metadata"]["name"] == "p1").unwrap();
    fs::write(directory.join("pod.json"), pod.to_string()).unwrap();
    fs::write(directory.join("cluster.json"), snapshot.to_string()).unwrap();
    fs::write(directory.join("zone.wasm"), plimsoll_guests::zone()).unwrap();
}

const FROM_SNAPSHOT: [&str; 4] = ["--pod", "pod.json", "--snapshot", "cluster.json"];

#[test]
fn a_pod_and_a_cluster_become_a_case_of_a_page_that_holds() {
    let directory = tempdir().unwrap();
    for (policy, request) in [
        ("tenant-pool", "nocache/001-filter"),
        ("zone-spread", "nocache/002-prioritize"),
        ("warm-image", "nocache/002-prioritize"),
        ("gpu-binpack", "nocache/001-filter"),
    ] {
        lay_recording(directory.path(), request);
        let (module, case) = (module(policy), format!("{policy}.yaml"));
        let printed = test(directory.path(), &[&["--record", &*case, &*module], &FROM_SNAPSHOT[..]].concat());
        assert_eq!(printed.code, Some(0), "{policy} {printed:?}");
        let yaml = fs::read_to_string(directory.path().join(&case)).unwrap();
        assert!(yaml.lines().count() <= 45 && yaml.contains("\nexpect:\n"), "{policy}\n{yaml}");
        let printed = test(directory.path(), &["--cases", &case, &module]);
        assert_eq!(printed.code, Some(0), "{policy} {printed:?}\n{yaml}");
    }
}

#[test]
fn a_case_has_what_the_policy_read_and_a_node_for_each_answer() {
    let directory = tempdir().unwrap();
    lay_out(directory.path());
    let printed = test(directory.path(), &[&["--record", "-", "zone.wasm"][..], &FROM_SNAPSHOT].concat());
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let expected = "# Cut from pod.json and cluster.json: what zone read of it, and what it answered.
description: describe the rule that this case shows
pod: {metadata: {name: p1, namespace: web}}
nodes:
- {metadata: {name: n1, labels: {zone: a}}}
- {metadata: {name: n2, labels: {zone: b}}}
expect:
  filter:
    n1: fits
    n2: {unschedulable: not in zone a}
";
    assert_eq!(printed.out, expected);
    let chosen = [&["--record", "-", "zone.wasm", "--node", "n3,n1"][..], &FROM_SNAPSHOT].concat();
    let printed = test(directory.path(), &chosen);
    assert!(
        printed.out.ends_with("request: [n3, n1]\nexpect:\n  filter:\n    n3: fits\n    n1: fits\n"),
        "{printed:?}"
    );
}

#[test]
fn a_case_keeps_what_was_read_of_the_whole_cluster() {
    let directory = tempdir().unwrap();
    lay_out(directory.path());
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/licence_seats.wasm");
    policies();
    fs::copy(module, directory.path().join("seats.wasm")).unwrap();
    fs::write(
        directory.path().join("seats.yaml"),
        "settings: {label: licence, pool: example.com/pool, seats: {cad: 1}}\n",
    )
    .unwrap();
    let about = [&["--record", "case.yaml", "seats.wasm", "--node", "n3"][..], &FROM_SNAPSHOT].concat();
    let printed = test(directory.path(), &about);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let yaml = fs::read_to_string(directory.path().join("case.yaml")).unwrap();
    // The pod itself is placed in the snapshot and does not count; p2 has the seat.
    assert!(yaml.contains("request: [n3]\n") && yaml.contains("name: p2") && !yaml.contains("n1"), "{yaml}");
    assert!(yaml.contains("n3: {unschedulable: all seats of the licence are taken in the node's pool}"), "{yaml}");
    assert!(!yaml.contains("s3cr3t") && !yaml.contains("zone"), "{yaml}");
    assert_eq!(test(directory.path(), &["--cases", "case.yaml", "seats.wasm"]).code, Some(0));
}

#[test]
fn a_recording_that_cannot_be_says_what_is_missing() {
    let directory = tempdir().unwrap();
    lay_out(directory.path());
    let at = |name: &str| directory.path().join(name);
    fs::write(at("taken.yaml"), "mine").unwrap();
    fs::write(at("broken.wasm"), hostile("trap_in_verb")).unwrap();
    let guard = module("preempt-guard");
    let from = |args: &[&'static str]| [args, &FROM_SNAPSHOT].concat();
    let zone = "zone.wasm";
    let table: [(Vec<&str>, &str); 6] = [
        (vec![zone], "--record needs --pod FILE and --snapshot FILE"),
        (vec![zone, "--pod", "pod.json"], "--record needs --pod FILE and --snapshot FILE"),
        (
            [&[&*guard][..], &FROM_SNAPSHOT].concat(),
            "the policy has no verb for this request: expected filter, score, rank or bind",
        ),
        (from(&[zone, "broken.wasm"]), "--record is about one policy, and there are 2"),
        (from(&["broken.wasm"]), "the policy failed to filter: trap"),
        (from(&[zone, "--node", "n9"]), "names the node 'n9'; there is no such node"),
    ];
    for (args, expected) in table {
        let printed = test(directory.path(), &[&["--record", "-"], &args[..]].concat());
        assert_eq!((printed.code, printed.out.as_str()), (Some(2), ""), "{args:?} {printed:?}");
        assert!(printed.err.contains(expected), "{args:?} {printed:?}");
    }
    let printed = test(directory.path(), &from(&["--record", "taken.yaml", zone]));
    assert!(printed.err.contains("taken.yaml cannot be written; a file that exists is kept"), "{printed:?}");
    assert_eq!(fs::read_to_string(at("taken.yaml")).unwrap(), "mine");
}

#[test]
fn a_recording_refuses_the_flags_of_a_test_that_it_would_ignore() {
    let directory = tempdir().unwrap();
    lay_out(directory.path());
    for flag in [&["--explain"][..], &["--strict"], &["--output", "json"]] {
        let args = [&["zone.wasm", "--record", "-"][..], &FROM_SNAPSHOT, flag].concat();
        let printed = test(directory.path(), &args);
        assert_eq!(printed.code, Some(2), "{printed:?}");
        assert!(printed.err.contains("cannot be used with") && printed.err.contains(flag[0]), "{printed:?}");
    }
}
