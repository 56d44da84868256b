//! Each command as a user types it.
#![allow(clippy::unwrap_used, reason = "a failed command fails its test")]

use std::{fs, path::Path};

use plimsoll_commands::{Printed, matches_golden, plimsoll, steady};
use plimsoll_harness::{guest, policies, tempdir, workspace};
use serde_json::Value;

const POD: &str = r#"{"metadata":{"name":"api-0","namespace":"team-a","uid":"u","labels":{"app":"api"}},
    "spec":{"containers":[{"name":"main","image":"registry.example.com/api:1.0","resources":{"requests":{"cpu":"500m"}}}]}}"#;

fn run(args: &[&str]) -> Printed {
    plimsoll(workspace(), args).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn help_is_what_the_golden_files_say() {
    for command in ["", "serve", "check", "run", "scheduler-config", "demo", "completions"] {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        let printed = run(&args);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let name = if command.is_empty() { "help.txt".to_owned() } else { format!("help-{command}.txt") };
        matches_golden(&name, &printed.out).unwrap();
    }
}

#[test]
fn every_flag_of_serve_is_an_environment_variable() {
    let help = run(&["serve", "--help"]).out;
    let flags = help.split("\n      --").skip(1).filter(|flag| !flag.starts_with("help"));
    for flag in flags {
        assert!(flag.contains("[env: PLIMSOLL_"), "--{flag}");
    }
}

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
    let printed = plimsoll(directory.path(), &["check", "--no-cache", "bad.wasm", "missing.wasm", "notes.txt"]).unwrap();
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
    let printed =
        run(&["run", "--no-cache", "--policies", text(policies()), "--pod", text(&pod), "--output", "json"]);
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
fn scheduler_config_has_the_verbs_that_the_policies_have() {
    let printed = run(&["scheduler-config", "--no-cache", "--policies", text(policies())]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    matches_golden("scheduler-config.yaml", &printed.out).unwrap();
}

#[test]
fn scheduler_config_has_one_extender_for_each_group() {
    let directory = tempdir().unwrap();
    let group = directory.path().join("gpu");
    fs::create_dir(&group).unwrap();
    fs::copy(policies().join("gpu-binpack.wasm"), group.join("gpu-binpack.wasm")).unwrap();
    fs::write(group.join("gpu-binpack.yaml"), "match: {resources: [example.com/gpu-mem]}\n").unwrap();
    let args = ["scheduler-config", "--no-cache", "--full-nodes", "--output", "json", "--policies", "."];
    let printed = plimsoll(directory.path(), &args).unwrap();
    let config: Value = serde_json::from_str(&printed.out).unwrap();
    let extender = &config["extenders"][0];
    assert_eq!(extender["urlPrefix"], "http://127.0.0.1:8888/gpu");
    assert_eq!(extender["nodeCacheCapable"], false);
    assert_eq!(extender["managedResources"][0]["name"], "example.com/gpu-mem");
}

#[test]
fn a_command_that_cannot_be_done_says_why_and_exits_with_2() {
    let table: &[(&[&str], &str)] = &[
        (&["serve", "--policies", "absent"], "absent"),
        (&["serve"], "--policies"),
        (&["serve", "--policies", ".", "--request-timeout", "soon"], "expected a time such as 250ms or 4s"),
        (&["run", "--policies", "absent", "--pod", "absent.json"], "absent"),
        (&["demo", "--policies", "absent"], "make policies"),
        (&["nonsense"], "unrecognized subcommand"),
    ];
    let directory = tempdir().unwrap();
    for (args, expected) in table {
        let printed = plimsoll(directory.path(), args).unwrap();
        assert_eq!(printed.code, Some(2), "{args:?} {printed:?}");
        assert!(printed.err.contains(expected), "{args:?} {}", printed.err);
        assert!(!printed.err.contains("panicked"), "{}", printed.err);
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let printed = run(&["completions", shell]);
        assert_eq!(printed.code, Some(0));
        assert!(printed.out.contains("scheduler-config"), "{shell}");
    }
}

#[test]
fn the_demo_tells_its_story_without_a_failed_call() {
    let directory = tempdir().unwrap();
    policies();
    let printed = run(&["demo", "--directory", text(directory.path())]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for expected in [
        "zone c is being drained",
        "zone a is being drained",
        "first answer by it",
        "outcome=\"panic\"",
        "may be preempted",
        "would still be refused",
        "failed calls: 0",
        "Next:",
    ] {
        assert!(printed.out.contains(expected), "`{expected}` is missing in\n{}", printed.out);
    }
}
