//! Every hostile guest behind the real wire: kube-scheduler gets the right reply, and the next call is served.
//!
//! One process has them all, each in a group of its own beside a good policy, once with `onError: fail`
//! and once with `ignore`.

use std::{fs, path::Path};

use plimsoll_core::Verb;
use plimsoll_guests::{Expected, Guest, hostile, zone};
use plimsoll_harness::{Plimsoll, Reply, tempdir};
use serde_json::{Value, json};

const NODES: [(&str, &str); 4] = [("n0", "a"), ("n1", "b"), ("n2", "a"), ("n3", "b")];

#[test]
fn a_hostile_guest_over_http_harms_nobody_but_its_own_decision() {
    let directory = tempdir().unwrap();
    // A bind asks nobody without an API server; the guests that bind have their turn in `hostile`.
    let guests = || hostile().iter().filter(|guest| guest.verb != Verb::Bind);
    for guest in guests() {
        lay_group(directory.path(), guest, "fail");
        lay_group(directory.path(), guest, "ignore");
    }
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--allow-degraded"]).unwrap();
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    for guest in guests() {
        match guest.expected {
            Expected::Refused(text) => {
                assert!(refusal(&listed, &group(guest, "fail")).contains(text), "{}: {listed}", guest.name);
                answers_without_it(&gateway, guest, "fail");
            }
            Expected::Fault(kind, _) => match refusal(&listed, &group(guest, "fail")) {
                text if text.is_empty() => fails_the_decision(&gateway, guest, kind.as_str()),
                // A trial call finds out a guest that fails before it has read anything.
                text => {
                    assert!(text.contains(kind.as_str()), "{}: {text}", guest.name);
                    answers_without_it(&gateway, guest, "fail");
                }
            },
        }
        answers_without_it(&gateway, guest, "ignore");
    }
}

/// A group with the guest, and with the policy that likes zone `a` alone.
fn lay_group(root: &Path, guest: &Guest, on_error: &str) {
    let folder = root.join(group(guest, on_error));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("hostile.wasm"), &guest.bytes).unwrap();
    fs::write(folder.join("hostile.yaml"), format!("onError: {on_error}\norder: 1\ntimeout: 50ms\n")).unwrap();
    fs::write(folder.join("zone.wasm"), zone()).unwrap();
}

fn group(guest: &Guest, on_error: &str) -> String {
    format!("{}-{on_error}", guest.name.replace('_', "-"))
}

fn refusal(listed: &Value, group: &str) -> String {
    let policies = listed["policies"].as_array().unwrap();
    let refused = policies.iter().find(|policy| policy["group"] == group && policy["state"] == "failed");
    refused.map(|policy| policy["error"].to_string()).unwrap_or_default()
}

/// The reply says which policy failed and how; it is never empty.
fn fails_the_decision(gateway: &Plimsoll, guest: &Guest, kind: &str) {
    let reply = ask(gateway, guest, "fail");
    let wanted = if guest.verb == Verb::Filter { 200 } else { 500 };
    assert_eq!(reply.status, wanted, "{}: {reply:?}", guest.name);
    let error = serde_json::from_str::<Value>(&reply.body).unwrap()["Error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("hostile") && error.contains(kind), "{}: {error}", guest.name);
}

/// The reply is what the good policy alone would have said.
fn answers_without_it(gateway: &Plimsoll, guest: &Guest, on_error: &str) {
    let reply = ask(gateway, guest, on_error);
    assert_eq!(reply.status, 200, "{}: {reply:?}", guest.name);
    let reply: Value = serde_json::from_str(&reply.body).unwrap();
    match guest.verb {
        Verb::Score | Verb::Rank => assert_eq!(reply.as_array().unwrap().len(), NODES.len(), "{}", guest.name),
        Verb::Preempt => {
            let kept: Vec<&String> = reply["NodeNameToMetaVictims"].as_object().unwrap().keys().collect();
            assert_eq!(kept, ["n0", "n2"], "{}", guest.name);
        }
        _ => {
            assert_eq!(reply["Error"], "", "{}", guest.name);
            let kept = reply["Nodes"]["items"].as_array().unwrap().iter().map(|node| &node["metadata"]["name"]);
            assert_eq!(kept.collect::<Vec<_>>(), ["n0", "n2"], "{}", guest.name);
            for (node, _) in NODES.iter().filter(|(_, zone)| *zone != "a") {
                let failed = [&reply["FailedNodes"][node], &reply["FailedAndUnresolvableNodes"][node]];
                assert!(
                    failed.iter().any(|reason| reason.as_str().is_some_and(|text| text.starts_with("zone: "))),
                    "{reply}"
                );
            }
        }
    }
}

fn ask(gateway: &Plimsoll, guest: &Guest, on_error: &str) -> Reply {
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "p"}, "spec": {}});
    let node = |(name, zone): &(&str, &str)| json!({"metadata": {"name": name, "labels": {"zone": zone}}});
    let nodes = json!({"metadata": {}, "items": NODES.iter().map(node).collect::<Vec<_>>()});
    let about_nodes = json!({"Pod": pod, "Nodes": nodes, "NodeNames": null});
    let path = |verb: &str| format!("/{}/{verb}", group(guest, on_error));
    match guest.verb {
        Verb::Score | Verb::Rank => gateway.post(&path("prioritize"), &about_nodes),
        Verb::Preempt => {
            // The nodes of a filter call are remembered for a preempt call, which has none.
            let victim =
                json!({"metadata": {"name": "v", "namespace": "default", "uid": "v"}, "spec": {"priority": -1}});
            let victims: serde_json::Map<String, Value> = NODES
                .iter()
                .map(|(name, _)| ((*name).to_owned(), json!({"Pods": [victim], "NumPDBViolations": 0})))
                .collect();
            gateway.post(&path("filter"), &about_nodes).unwrap();
            let request = json!({"Pod": pod, "NodeNameToVictims": victims, "NodeNameToMetaVictims": null});
            let ask = || gateway.post(&path("preempt"), &request).unwrap();
            // It is remembered behind the reply, so perhaps not at once.
            let remembered = |reply: Reply| (!reply.body.contains(":{}")).then_some(reply);
            plimsoll_harness::wait_until("the nodes to be remembered", || remembered(ask()))
        }
        _ => gateway.post(&path("filter"), &about_nodes),
    }
    .unwrap()
}
