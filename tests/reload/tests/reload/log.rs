//! The log's lines about a request, and the harm that a hostile client can do to them.

use std::fs;

use plimsoll_harness::{Plimsoll, tempdir, wait_until};
use plimsoll_reload::{failing, version};
use serde_json::{Value, json};

/// A request about one whole node.
fn request() -> Value {
    let pod = json!({"metadata": {"name": "solver-1", "namespace": "team-a", "uid": "u-1"}, "spec": {"priority": 1}});
    json!({"Pod": pod, "Nodes": {"items": [{"metadata": {"name": "n3"}}]}})
}

fn is(message: &'static str) -> impl Fn(&Value) -> bool {
    move |line| line["message"] == message
}

#[test]
fn a_line_about_a_request_names_its_pod_and_its_policy() {
    let directory = tempdir().unwrap();
    let group = directory.path().join("gpu");
    fs::create_dir(&group).unwrap();
    fs::write(directory.path().join("fits.wasm"), version("no").unwrap()).unwrap();
    fs::write(group.join("fails.wasm"), failing().unwrap()).unwrap();
    fs::write(group.join("tried.wasm"), version("not here").unwrap()).unwrap();
    fs::write(group.join("tried.yaml"), "mode: shadow\n").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    wait_until("the policies", || (gateway.get("/readyz").ok()?.status == 200).then_some(())).unwrap();

    let reply = gateway.ask("/gpu/filter", &request()).unwrap();
    let error = reply["Error"].as_str().unwrap();
    assert!(error.starts_with("policy gpu/fails failed to filter: trap: "), "{error}");
    let failed = gateway.wait_for_log("the fault", is("a policy failed")).unwrap();
    let expected = [
        ("policy", "gpu/fails"),
        ("pod", "team-a/solver-1"),
        ("uid", "u-1"),
        ("mode", "enforce"),
        ("onError", "fail"),
        ("verb", "filter"),
        ("fault", "trap"),
    ];
    for (key, value) in expected {
        assert_eq!(failed[key], value, "{failed}");
    }
    assert_eq!(failed["version"], 1, "{failed}");
    let refused = gateway.wait_for_log("the reply", is("no decision")).unwrap();
    assert_eq!((&refused["pod"], &refused["uid"]), (&json!("team-a/solver-1"), &json!("u-1")), "{refused}");
    assert_eq!(refused["request"], failed["request"], "both lines are about one request");

    // Without the one that fails there is a reply, and then the policy in shadow mode is asked.
    fs::remove_file(group.join("fails.wasm")).unwrap();
    wait_until("a decision", || (gateway.ask("/gpu/filter", &request()).ok()?["Error"] == "").then_some(())).unwrap();
    let tried = gateway.wait_for_log("shadow", is("a policy in shadow mode would have rejected nodes")).unwrap();
    assert_eq!((&tried["policy"], &tried["node"]), (&json!("gpu/tried"), &json!("n3")), "{tried}");
    assert_eq!((&tried["pod"], &tried["reason"]), (&json!("team-a/solver-1"), &json!("not here")), "{tried}");
    let table = gateway.get("/api/table?policy=gpu/tried").unwrap();
    assert!(table.body.contains("not here"), "{}", table.body);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the bound is a number of lines in a time")]
fn a_hostile_client_does_not_fill_the_log_nor_hide_what_fails() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("fails.wasm"), failing().unwrap()).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    wait_until("the policy", || (gateway.get("/readyz").ok()?.status == 200).then_some(())).unwrap();
    let before = gateway.count_log(|_| true);
    let began = std::time::Instant::now();
    for _ in 0..500 {
        gateway.post("/nothing", &json!({})).unwrap();
        gateway.post("/prioritize", &json!({"Pod": 7})).unwrap();
    }
    gateway.ask("/filter", &request()).unwrap();
    gateway.wait_for_log("the fault", is("a policy failed")).unwrap();
    let is_summary = |line: &Value| line["message"].as_str().is_some_and(|text| text.contains("were left out"));
    gateway.wait_for_log("what was left out", is_summary).unwrap();
    let (lines, seconds) = (gateway.count_log(|_| true) - before, began.elapsed().as_secs() as usize + 2);
    // Two kinds of lines and what was left out of them, ten and one a second each; and a few more.
    assert!(lines <= 2 * 11 * seconds + 10, "{lines} lines in {seconds} s");
}
