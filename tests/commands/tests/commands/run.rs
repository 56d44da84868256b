//! `plimsoll run`.

use std::fs;

use plimsoll_commands::matches_golden;
use plimsoll_harness::{guest, policies, tempdir};
use serde_json::Value;

use crate::{POD, run, text};

#[test]
fn run_prints_a_table_of_nodes_by_policy() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let printed = run(&["run", "--no-cache", "--policies", text(policies()), "--pod", text(&pod), "--rows", "8"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("run.txt", &printed.out).unwrap();
}

#[test]
fn run_prints_json_with_every_node_and_every_answer() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let printed = run(&["run", "--no-cache", "--policies", text(policies()), "--pod", text(&pod), "--output", "json"]);
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let nodes = report["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 200);
    for node in nodes {
        assert_eq!(node["fits"].as_bool().unwrap(), node["reason"].is_null(), "{node}");
        assert!(!node["answers"].as_array().unwrap().is_empty(), "{node}");
    }
}

#[test]
fn run_shows_a_fault_and_goes_on_without_an_ignored_policy() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD.replace("\"api\"", "\"train\"")).unwrap();
    fs::copy(guest("fragile"), dir.join("fragile.wasm")).unwrap();
    let printed = run(&["run", "--no-cache", "--policies", text(&dir), "--pod", text(&pod), "--rows", "1"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.out.contains("policy fragile failed to score: panic: "), "{}", printed.out);
    assert!(printed.out.contains("I did not expect this app"), "{}", printed.out);
    assert!(printed.out.contains("200 of 200 nodes are left"), "{}", printed.out);
}

#[test]
fn run_says_once_what_is_wrong_with_a_pod() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.yaml");
    fs::write(&pod, "{apiVersion: v1").unwrap();
    let printed = run(&["run", "--no-cache", "--policies", text(policies()), "--pod", text(&pod)]);
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert_eq!(printed.err.matches("expected JSON as kubectl writes it").count(), 1, "{}", printed.err);
}
