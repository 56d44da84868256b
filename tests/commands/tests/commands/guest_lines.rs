//! The lines that policies log, in `run`, `explain` and `test --explain`.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::{TempDir, tempdir};
use serde_json::Value;

use crate::POD;

/// Logs `seen` about each node. It reads a label that no two nodes share, so it is asked about every one.
const CHATTY: &str = r#"(module
  (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
  (import "plimsoll:policy/nodes@0.1.0" "label" (func $label (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "kubernetes.io/hostname")
  (data (i32.const 32) "seen")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $label (local.get $node) (i32.const 0) (i32.const 22) (i32.const 64))
    (call $log (i32.const 1) (i32.const 32) (i32.const 4))
    (i32.const 128)))"#;

const CASE: &str = "description: it fits
nodes:
- metadata: {name: n1}
expect:
  filter: {n1: fits}
";

/// A folder with the policy, a case and a pod.
fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    fs::create_dir_all(folder.path().join("policies")).unwrap();
    fs::create_dir_all(folder.path().join("cases")).unwrap();
    let module = plimsoll_guests::compile("chatty", CHATTY);
    fs::write(folder.path().join("policies/chatty.wasm"), module).unwrap();
    fs::write(folder.path().join("cases/a.yaml"), CASE).unwrap();
    fs::write(folder.path().join("pod.json"), POD).unwrap();
    folder
}

fn asked(folder: &Path, command: &[&str]) -> Printed {
    let cluster = ["--no-compile-cache", "--sample", "--policies", "policies", "--pod", "pod.json"];
    let printed = plimsoll(folder, &[command, &cluster].concat()).unwrap();
    assert_eq!(printed.code, Some(0), "{printed:?}");
    printed
}

#[test]
fn run_shows_the_lines_of_a_policy_once_for_each_node_and_no_flood() {
    let folder = folder();
    let printed = asked(folder.path(), &["run"]);
    let lines: Vec<&str> = printed.err.lines().collect();
    assert_eq!(lines[0], "chatty (info, filter, node-000): seen");
    assert_eq!(lines.len(), 101, "{printed:?}");
    assert!(lines[100].ends_with(" more lines of policies were left out"), "{printed:?}");
    assert!(!printed.out.contains("seen"), "{printed:?}");
}

#[test]
fn explain_shows_the_lines_about_its_node_beside_its_json() {
    let folder = folder();
    let printed = asked(folder.path(), &["explain", "--node", "node-007", "--output", "json"]);
    assert_eq!(printed.err, "chatty (info, filter, node-007): seen\n");
    serde_json::from_str::<Value>(&printed.out).unwrap();
}

#[test]
fn test_shows_the_lines_of_each_case_with_explain_alone() {
    let folder = folder();
    fs::copy(folder.path().join("cases/a.yaml"), folder.path().join("cases/b.yaml")).unwrap();
    // With a sidecar the policy is loaded as the gateway loads it, with a trial call, which logs too.
    fs::write(folder.path().join("policies/chatty.yaml"), "{}\n").unwrap();
    let test = |args: &[&str]| {
        let tested = ["test", "--no-compile-cache", "--cases", "cases", "policies/chatty.wasm"];
        let printed = plimsoll(folder.path(), &[&tested, args].concat()).unwrap();
        assert_eq!(printed.code, Some(0), "{printed:?}");
        printed.err
    };
    let line = |case: &str| format!("policies/chatty.wasm (info, cases/{case}.yaml, filter, n1): seen\n");
    assert_eq!(test(&["--explain"]), line("a") + &line("b"));
    assert_eq!(test(&[]), "");
}
