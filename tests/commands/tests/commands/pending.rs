//! `plimsoll pending` shows the pods that wait, and why each does.

use std::fs;

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::{FakeApi, Plimsoll, guest, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, text};

fn mk_pod(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut pod: Value = serde_json::from_str(POD).unwrap();
    (pod["metadata"]["name"], pod["metadata"]["uid"]) = (name.into(), name.into());
    change(&mut pod);
    pod
}

/// Nodes `n0` to `n119`, of which the first three are outside of the zone that is being drained.
fn mk_nodes() -> impl Iterator<Item = Value> {
    (0..120).map(|at| {
        let labels = json!({"topology.kubernetes.io/zone": if at < 3 { "a" } else { "c" }});
        let status = json!({"allocatable": {"cpu": "1", "pods": "110"}});
        json!({"metadata": {"name": format!("n{at}"), "labels": labels}, "status": status})
    })
}

#[test]
fn a_pod_that_waits_is_listed_and_explained_and_one_that_does_not_is_said_to_be_elsewhere() {
    let directory = tempdir().unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone-drain.wasm")).unwrap();
    let placed = (0..3).map(|at| mk_pod(&format!("on-{at}"), |pod| pod["spec"]["nodeName"] = format!("n{at}").into()));
    let full = placed.map(|mut pod| {
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "900m".into();
        pod
    });
    let gated = mk_pod("gated", |pod| {
        pod["spec"]["schedulingGates"] = json!([{"name": "quota"}]);
        pod["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z".into();
    });
    let message = "0/120 nodes are available: 117 zone-drain: zone c is being drained, 3 Insufficient cpu.";
    let waiting = mk_pod("api-0", |pod| {
        pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        pod["status"] = json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": message, "lastTransitionTime": "2026-01-01T00:00:01Z"}]});
    });
    let api = FakeApi::start(mk_nodes(), full.chain([gated, waiting.clone()])).unwrap();
    let kubeconfig = api.kubeconfig();
    let args = ["--no-compile-cache", "--no-bind", "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
    let server = format!("http://{}/", gateway.admin);
    let pending = |args: &[&str]| -> Printed {
        plimsoll(directory.path(), &[&["pending", "--server", &server], args].concat()).unwrap()
    };
    let rows = || {
        let printed = pending(&[]);
        (printed.out.lines().count() == 3).then_some(printed.out)
    };
    let list = wait_until("both pods", rows).unwrap();
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[1].contains("team-a/api-0") && lines[1].contains(message), "the oldest first: {list}");
    assert!(lines[2].contains("team-a/gated") && lines[2].contains("it has a scheduling gate"), "{list}");

    // Another sample in each attempt.
    for first in [3, 10, 20] {
        let names: Vec<String> = (first..first + 100).map(|at| format!("n{at}")).collect();
        gateway.ask("/filter", &json!({"Pod": waiting, "NodeNames": names})).unwrap();
    }
    let list = rows().unwrap();
    for part in [" (root) ", " 3 ", " 117/120 zone-drain: zone c is being drained"] {
        assert!(list.lines().nth(1).unwrap().contains(part), "{part}: {list}");
    }
    let shown = pending(&["team-a/api-0"]).out;
    for part in [
        "pod team-a/api-0 waits since 2026-01-01T00:00:00Z (",
        &format!(" ago): {message}\n"),
        "\ngroup (root): 3 attempts, the last at 2",
        " ago): no node was left\nof 120 nodes of the whole cluster:\n    117  zone-drain: zone c is being drained (version 1)\n      3  kube-scheduler: Insufficient cpu\n",
        "\npolicy zone-drain: version 1, loaded at 2",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown: Value = serde_json::from_str(&pending(&["team-a/api-0", "--output", "json"]).out).unwrap();
    let of_group = &shown["attempts"][0];
    assert_eq!(
        (&of_group["group"], &of_group["attempts"], &of_group["isRefused"]),
        (&json!(""), &json!(3), &json!(true))
    );
    let first =
        json!({"by": "policy", "policy": "zone-drain", "version": 1, "text": "zone c is being drained", "nodes": 117});
    assert_eq!(of_group["refusal"]["reasons"][0], first);
    assert_eq!(shown["condition"]["since"], "2026-01-01T00:00:01Z");
    assert_eq!(
        (&shown["wakeDue"], &shown["nominated"], &shown["notTried"]),
        (&json!(false), &Value::Null, &Value::Null)
    );

    // Once, though it was left without a node three times.
    let is_told = |line: &Value| line["message"] == "a pod is left without a node" && line["pod"] == "team-a/api-0";
    let line = gateway.wait_for_log("the line", is_told).unwrap();
    assert_eq!(line["rejected"], "117 zone-drain: zone c is being drained, 3 Insufficient cpu");
    assert_eq!((&line["nodes"], &line["whole"], &line["policy"]), (&json!(120), &json!(true), &json!("zone-drain")));
    assert_eq!(gateway.count_log(is_told), 1);
    let metrics = gateway.get("/metrics").unwrap().body;
    for series in ["{policy=\"zone-drain\"} 1\n", "{policy=\"kube-scheduler\"} 0\n"] {
        assert!(metrics.contains(&format!("plimsoll_pending_pods{series}")), "{metrics}");
    }

    for (pod, expected) in
        [("on-1", "does not wait: it is on node n1"), ("gone", "is not known to wait for a node: it does not exist")]
    {
        let printed = pending(&[&format!("team-a/{pod}")]);
        let expected = format!("plimsoll: pod team-a/{pod} {expected}");
        assert!(printed.code == Some(1) && printed.err.starts_with(&expected), "{printed:?}");
    }
    api.delete_pod("team-a", "api-0");
    api.delete_pod("team-a", "gated");
    let is_empty = || pending(&[]).out == "no pod is known to wait for a node\n";
    wait_until("no pods", || is_empty().then_some(())).unwrap();
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    for (server, expected) in [
        ("http://127.0.0.1:1", "plimsoll: http://127.0.0.1:1 (--server): Connection refused"),
        (
            "https://127.0.0.1:1",
            "plimsoll: https://127.0.0.1:1 (--server): expected http://HOST:PORT, the address of an",
        ),
    ] {
        let printed = plimsoll(tempdir().unwrap().path(), &["pending", "--server", server]).unwrap();
        assert!(printed.code == Some(2) && printed.err.starts_with(expected), "{printed:?}");
    }
}
