//! The JSON of commands and of the admin listener: one convention for its keys.

use std::{collections::BTreeSet, fs};

use plimsoll_harness::{Plimsoll, guest, policies, tempdir};
use serde_json::{Value, json};

use crate::{POD, hostile, run, text};

/// The keys of a value at any depth, except those that are names of verbs or of annotations.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                if !["cached", "onError", "annotations"].contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The JSON that each command prints, about policies of all verbs, one that fails and one that is refused.
fn printed_by_commands() -> Vec<Value> {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (pod, failing) = (at("pod.json"), at("failing"));
    fs::write(&pod, POD).unwrap();
    fs::create_dir(&failing).unwrap();
    fs::write(failing.join("broken.wasm"), hostile("trap_after_read")).unwrap();
    let refused = at("refused.wasm");
    fs::write(&refused, "no wasm").unwrap();
    let broken = failing.join("broken.wasm");
    let (wrong, good_module) = (at("wrong"), policies().join("tenant-pool.wasm"));
    fs::create_dir(&wrong).unwrap();
    fs::write(wrong.join("a.yaml"), "description: d\nnodes: [{metadata: {name: n}}]\nexpect: {filter: {}}\n").unwrap();
    fs::write(wrong.join("b.yaml"), "expect: 1\n").unwrap();
    let all = ["--no-compile-cache", "--output", "json"];
    let about = ["--sample", "--pod", text(&pod)];
    let of = |directory| ["--policies", directory];
    let (good, bad) = (of(text(policies())), of(text(&failing)));
    let node: [&str; 2] = ["--node", "node-170"];
    let commands: [Vec<&str>; 8] = [
        [&["run"][..], &all, &about, &good].concat(),
        [&["run"][..], &all, &about, &bad].concat(),
        [&["explain"][..], &all, &about, &good, &node].concat(),
        [&["explain"][..], &all, &about, &bad, &node].concat(),
        [&["check", "--purity"][..], &all, &[text(policies()), text(&failing), text(&refused)]].concat(),
        [&["test", "--explain"][..], &all, &["--cases", text(&wrong), text(&good_module)]].concat(),
        [&["test"][..], &all, &["--cases", text(&wrong), text(&broken)]].concat(),
        vec!["version", "--output", "json"],
    ];
    commands.iter().map(|args| parsed(&run(args).out)).collect()
}

/// The JSON on the pages of the admin listener, with a policy in force and one that is refused.
fn shown_by_admin() -> Vec<Value> {
    let directory = tempdir().unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    fs::write(directory.path().join("refused.wasm"), "no wasm").unwrap();
    let snapshot = tempdir().unwrap();
    let snapshot = snapshot.path().join("cluster.json");
    let node = json!({"kind": "Node", "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "c"}}});
    fs::write(&snapshot, json!({"kind": "List", "items": [node]}).to_string()).unwrap();
    let facts = snapshot.with_file_name("facts.yaml");
    fs::write(&facts, "racks: {file: {path: racks.csv}}\n").unwrap();
    let args = ["--no-compile-cache", "--allow-degraded", "--snapshot", text(&snapshot), "--facts", text(&facts)];
    let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
    gateway.ask("/filter", &json!({"Pod": parsed(POD), "NodeNames": ["n1"]})).unwrap();
    let pages = [
        "/api/policies",
        "/api/leader",
        "/api/pending",
        "/api/pending/team-a/api-0",
        "/api/facts",
        "/api/table?policy=zone-drain",
    ];
    let mut shown: Vec<Value> = pages.iter().map(|page| parsed(&gateway.get(page).unwrap().body)).collect();
    shown.push(parsed(&gateway.post_admin("/api/explain?node=n1", &parsed(POD)).unwrap().body));
    shown
}

#[test]
fn every_key_of_our_json_is_camel_case() {
    let mut found = BTreeSet::new();
    for value in printed_by_commands().iter().chain(&shown_by_admin()) {
        keys(value, &mut found);
    }
    assert!(found.len() > 40, "{found:?}");
    for key in found {
        assert!(!key.contains(['_', '-']), "{key} is not camelCase");
    }
}
