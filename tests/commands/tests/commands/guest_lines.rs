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
fn run_shows_the_lines_of_a_policy_and_no_flood() {
    let folder = folder();
    let printed = asked(folder.path(), &["run"]);
    assert!(printed.err.contains("seen policy=\"chatty\"") && printed.err.contains("node-000"), "{printed:?}");
    assert!(printed.err.contains("more lines within 1s were left out"), "{printed:?}");
    assert!(!printed.out.contains("seen"), "{printed:?}");
}

#[test]
fn explain_shows_the_lines_about_its_node_beside_its_json() {
    let folder = folder();
    let printed = asked(folder.path(), &["explain", "--node", "node-007", "--output", "json"]);
    assert!(printed.err.contains("seen policy=\"chatty\"") && printed.err.contains("node-007"), "{printed:?}");
    serde_json::from_str::<Value>(&printed.out).unwrap();
}

#[test]
fn test_shows_the_lines_of_each_case_with_explain_alone() {
    let folder = folder();
    fs::copy(folder.path().join("cases/a.yaml"), folder.path().join("cases/b.yaml")).unwrap();
    let test = |args: &[&str]| {
        let tested = ["test", "--no-compile-cache", "--cases", "cases", "policies/chatty.wasm"];
        let printed = plimsoll(folder.path(), &[&tested, args].concat()).unwrap();
        assert_eq!(printed.code, Some(0), "{printed:?}");
        printed.err
    };
    let explained = test(&["--explain"]);
    for case in ["a", "b"] {
        let of_case = |line: &str| line.contains(&format!("cases/{case}.yaml")) && line.contains("seen");
        assert!(explained.lines().any(of_case), "{explained}");
    }
    assert_eq!(test(&[]), "");
}
