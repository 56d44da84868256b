//! Messages that say which object is concerned, its effect, and the step that helps.

use std::fs;

use plimsoll_commands::plimsoll;
use plimsoll_harness::{Plimsoll, guest, policies, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, text};

#[test]
fn run_and_scheduler_config_name_every_policy_that_cannot_be_loaded() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("p/gpu")).unwrap();
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("p/one.wasm"), "no wasm").unwrap();
    fs::write(at("p/gpu/two.wasm"), "no wasm").unwrap();
    let run = ["run", "--no-compile-cache", "--sample", "--policies", "p", "--pod", "pod.json"];
    for args in [&run[..], &["scheduler-config", "--no-compile-cache", "--policies", "p"]] {
        let printed = plimsoll(directory.path(), args).unwrap();
        assert_eq!(printed.code, Some(2), "{printed:?}");
        for policy in ["one", "gpu/two"] {
            let named = format!("plimsoll: policy {policy} cannot be loaded: ");
            assert_eq!(printed.err.lines().filter(|line| line.starts_with(&named)).count(), 1, "{printed:?}");
        }
        assert!(printed.err.ends_with("plimsoll: 2 policies cannot be loaded\n"), "{printed:?}");
    }
}

#[test]
fn scheduler_config_warns_of_a_timeout_below_that_of_serve() {
    let directory = tempdir().unwrap();
    let print = |flags: &[&str]| {
        let args = ["scheduler-config", "--no-compile-cache", "--policies", text(policies())];
        plimsoll(directory.path(), &[&args[..], flags].concat()).unwrap()
    };
    for timeout in ["4s", "500ms"] {
        let printed = print(&["--http-timeout", timeout]);
        let expected = format!("--http-timeout {timeout} is not above --request-timeout of `serve` (4s by default)");
        assert!(printed.code == Some(0) && printed.err.contains(&expected), "{printed:?}");
    }
    assert!(!print(&["--http-timeout", "4100ms"]).err.contains("--http-timeout"));
}

#[test]
fn check_of_a_directory_prints_the_purity_that_was_asked_for() {
    let directory = tempdir().unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    let printed = plimsoll(directory.path(), &["check", "--no-compile-cache", "--purity", "."]).unwrap();
    let expected = ".: zone-drain: accepted\n  purity   filter: the same in any order of the 200 sample nodes for one sample pod; its answers are cached\n";
    assert_eq!((printed.code, printed.out.as_str()), (Some(0), expected), "{printed:?}");
}

/// Such a root is most likely a `urlPrefix` without its group.
#[test]
fn a_root_without_policies_beside_groups_with_some_is_noted() {
    let directory = tempdir().unwrap();
    fs::create_dir(directory.path().join("gpu")).unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("gpu/zone-drain.wasm")).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let said = "all policies are in groups (gpu): requests to the root URL are asked of no policy";
    let is_said = |line: &Value| line["level"] == "WARN" && line["message"].as_str().unwrap_or("").starts_with(said);
    gateway.wait_for_log("the warning", is_said).unwrap();
    let ready = gateway.get("/readyz").unwrap();
    assert!(ready.status == 200 && ready.body.contains(&format!("note: {said}")), "{ready:?}");
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    wait_until("the note to go", || (gateway.get("/readyz").unwrap().body == "ok\n").then_some(())).unwrap();
}

#[test]
fn a_note_of_readyz_says_that_the_last_good_version_stays() {
    let directory = tempdir().unwrap();
    let policy = directory.path().join("gpu/zone-drain.wasm");
    fs::create_dir(directory.path().join("gpu")).unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    fs::copy(guest("zone_drain_v1"), &policy).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    wait_until("readiness", || (gateway.get("/readyz").unwrap().body == "ok\n").then_some(())).unwrap();
    fs::write(&policy, "no wasm").unwrap();
    let noted =
        || Some(gateway.get("/readyz").unwrap().body).filter(|body| body.contains("note: policy gpu/zone-drain: "));
    let body = wait_until("the note", noted).unwrap();
    assert!(body.trim_end().ends_with("; the last good version stays in force"), "{body}");
}

/// The sample cluster has a pod without GPU memory, and a policy for pods with some.
#[test]
fn run_and_explain_say_which_part_of_match_does_not_hold() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("p")).unwrap();
    fs::copy(guest("zone_drain_v1"), at("p/zone-drain.wasm")).unwrap();
    fs::write(at("pod.json"), POD).unwrap();
    for (matches, part) in [
        ("namespaces: [nowhere]", "its namespace is not in match.namespaces"),
        ("schedulerNames: [nobody]", "its schedulerName is not in match.schedulerNames"),
        ("podSelector: {matchLabels: {no: label}}", "its labels do not fit match.podSelector"),
        ("resources: [example.com/none]", "no container has a resource of match.resources"),
    ] {
        fs::write(at("p/zone-drain.yaml"), format!("match: {{{matches}}}\n")).unwrap();
        let why = format!("it does not match the pod: {part}");
        let on = ["--no-compile-cache", "--sample", "--policies", "p", "--pod", "pod.json"];
        let commands: [&[&str]; 2] = [&["run"], &["explain", "--node", "node-000"]];
        for command in commands {
            let printed = plimsoll(directory.path(), &[command, &on].concat()).unwrap();
            assert!(printed.out.contains(&format!("zone-drain is not asked: {why}")), "{printed:?}");
            let printed = plimsoll(directory.path(), &[command, &on, &["--output", "json"]].concat()).unwrap();
            let report: Value = serde_json::from_str(&printed.out).unwrap();
            assert_eq!(report["notAsked"], json!([{"policy": "zone-drain", "why": why}]), "{report}");
        }
    }
}
