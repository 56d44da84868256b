//! `plimsoll check`.

use std::fs;

use plimsoll_commands::{matches_golden, plimsoll, steady};
use plimsoll_harness::{policies, tempdir};
use serde_json::Value;

use crate::{run, text};

#[test]
fn check_tells_what_each_sample_policy_is() {
    let files = ["tenant-pool", "warm-image", "zone-spread", "preempt-guard", "gpu-binpack"];
    let files: Vec<String> = files.iter().map(|name| format!("target/policies/{name}.wasm")).collect();
    policies();
    let args: Vec<&str> = ["check", "--no-cache"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let printed = run(&args);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("check.txt", &steady(&printed.out)).unwrap();
}

#[test]
fn check_says_why_a_file_is_refused_and_exits_with_1() {
    let directory = tempdir().unwrap();
    let bad = directory.path().join("bad.wasm");
    fs::write(&bad, "no wasm at all").unwrap();
    let printed =
        plimsoll(directory.path(), &["check", "--no-cache", "bad.wasm", "missing.wasm", "notes.txt"]).unwrap();
    assert_eq!(printed.code, Some(1));
    matches_golden("check-refused.txt", &printed.out).unwrap();
}

#[test]
fn check_says_which_setting_is_refused() {
    let directory = tempdir().unwrap();
    fs::copy(policies().join("tenant-pool.wasm"), directory.path().join("tenant-pool.wasm")).unwrap();
    fs::write(directory.path().join("tenant-pool.yaml"), "settings: {lable: x}\n").unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-cache", "tenant-pool.yaml"]).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("lable"), "{}", printed.out);
}

#[test]
fn check_prints_json_for_programs() {
    let module = policies().join("tenant-pool.wasm");
    let printed = run(&["check", "--no-cache", "--output", "json", text(&module)]);
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(report[0]["accepted"], true);
    assert_eq!(report[0]["verbs"][0], "filter");
    assert!(report[0]["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(report[0]["calls"][0]["node_us"].as_f64().unwrap() > 0.0);
}
