//! A file that nobody can compile lies in the directory: the gateway lives, and all else goes on.

use std::{fs, path::Path};

use plimsoll_guests::{bombs::bombs, bombs::loops_over_locals, zone};
use plimsoll_harness::{Plimsoll, tempdir, wait_until};
use serde_json::{Value, json};

/// The error of a refused policy, by `/api/policies`.
fn refused(gateway: &Plimsoll, name: &str) -> Option<String> {
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").ok()?.body).ok()?;
    let policy = listed["policies"].as_array()?.iter().find(|policy| policy["name"] == name)?;
    policy["error"].as_str().map(str::to_owned)
}

fn kept(gateway: &Plimsoll) -> String {
    let node = |name: &str, zone: &str| json!({"metadata": {"name": name, "labels": {"zone": zone}}});
    let nodes = json!({"items": [node("n0", "a"), node("n1", "b")]});
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": {}});
    let body = json!({"Pod": pod, "Nodes": nodes, "NodeNames": null});
    let reply = gateway.ask("/filter", &body).unwrap();
    reply["FailedAndUnresolvableNodes"].to_string()
}

fn answers_by_the_good_policy(gateway: &Plimsoll) {
    assert_eq!(kept(gateway), r#"{"n1":"zone: not in zone a"}"#);
}

fn with_zone(directory: &Path) {
    fs::write(directory.join("zone.wasm"), zone()).unwrap();
    fs::write(directory.join("zone.yaml"), "timeout: 3s\n").unwrap();
}

/// They come later, so that the policy that stood there first goes on without them.
#[test]
fn no_bomb_that_is_dropped_into_the_directory_ends_the_gateway() {
    let directory = tempdir().unwrap();
    with_zone(directory.path());
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--settle", "20ms"]).unwrap();
    answers_by_the_good_policy(&gateway);
    for (number, bomb) in bombs().iter().enumerate() {
        let name = format!("bomb-{number}");
        fs::write(directory.path().join(format!("{name}.wasm")), &bomb.bytes).unwrap();
        let error = wait_until(&bomb.name, || refused(&gateway, &name)).unwrap();
        assert!(error.contains(bomb.refused), "{}: {error}", bomb.name);
        answers_by_the_good_policy(&gateway);
    }
}

#[test]
fn no_bomb_that_lies_in_the_directory_ends_the_start() {
    let directory = tempdir().unwrap();
    with_zone(directory.path());
    for (number, bomb) in bombs().iter().enumerate() {
        fs::write(directory.path().join(format!("bomb-{number}.wasm")), &bomb.bytes).unwrap();
        fs::write(directory.path().join(format!("bomb-{number}.yaml")), "onError: ignore\n").unwrap();
    }
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--allow-degraded"]).unwrap();
    for (number, bomb) in bombs().iter().enumerate() {
        let error = wait_until(&bomb.name, || refused(&gateway, &format!("bomb-{number}"))).unwrap();
        assert!(error.contains(bomb.refused), "{}: {error}", bomb.name);
    }
    wait_until("the good policy", || (kept(&gateway) != "null" && kept(&gateway) != "{}").then_some(())).unwrap();
    answers_by_the_good_policy(&gateway);
}

#[test]
fn a_bomb_in_the_compiler_takes_its_own_memory_and_time_alone() {
    let directory = tempdir().unwrap();
    with_zone(directory.path());
    let args = ["--no-compile-cache", "--settle", "20ms", "--compile-timeout", "2s", "--compile-memory", "128Mi"];
    let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
    fs::write(directory.path().join("bomb.wasm"), loops_over_locals(300, 3_000)).unwrap();
    let error = wait_until("the refusal", || {
        answers_by_the_good_policy(&gateway);
        refused(&gateway, "bomb")
    })
    .unwrap();
    assert!(error.contains("stopped after 2 s") || error.contains("more than 128 MiB"), "{error}");
}
