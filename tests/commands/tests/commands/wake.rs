//! `serve` has kube-scheduler try rejected pods again when a fact changes, of which kube-scheduler does not hear.

use std::fs;

use plimsoll_harness::{FakeApi, Plimsoll, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, text};

#[test]
fn a_changed_fact_that_frees_a_pod_wakes_it_and_a_refused_wake_is_said_once() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let module = plimsoll_guests::compile("facts", include_str!("../../../guests/guests/good/facts.wat"));
    fs::write(at("gate.wasm"), module).unwrap();
    fs::write(at("gate.yaml"), "facts: [load, calendar.csv]\n").unwrap();
    fs::write(at("calendar.csv"), "today,closed\n").unwrap();
    let api = FakeApi::start([json!({"metadata": {"name": "n1"}})], []).unwrap();
    let kubeconfig = api.kubeconfig();
    let args = ["--no-compile-cache", "--no-bind", "--lease-namespace", "ops", "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
    wait_until("the cluster", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    let waiting = |uid: &str| {
        let mut pod: Value = serde_json::from_str(POD).unwrap();
        (pod["metadata"]["uid"], pod["metadata"]["name"]) = (uid.into(), uid.into());
        pod
    };
    for uid in ["a", "b"] {
        api.put_pod(waiting(uid));
    }
    let filter = |uid: &str| {
        let pod = waiting(uid);
        let reply = gateway.ask("/filter", &json!({"Pod": pod, "NodeNames": ["n1"]})).unwrap();
        reply["FailedAndUnresolvableNodes"]["n1"].as_str().unwrap_or_default().to_owned()
    };
    let counts =
        |wakes: &str| gateway.get("/metrics").unwrap().body.contains(&format!("plimsoll_wakes_total{{{wakes}\n"));

    assert_eq!(filter("a"), "gate: closed");
    // It frees nobody.
    fs::write(at("calendar.csv"), "today,still closed\n").unwrap();
    wait_until("another reason", || (filter("other") == "gate: still closed").then_some(())).unwrap();
    assert!(counts("result=\"sent\"} 0") && counts("result=\"failed\"} 0"));
    fs::write(at("calendar.csv"), "tomorrow,closed\n").unwrap();
    let patches = wait_until("a patch", || Some(api.patches()).filter(|patches| !patches.is_empty())).unwrap();
    let (path, body) = &patches[0];
    assert_eq!(path, "/apis/storage.k8s.io/v1/namespaces/ops/csistoragecapacities/plimsoll-wake");
    assert!(body["metadata"]["annotations"]["plimsoll.dev/wake"].is_string(), "{body}");
    wait_until("the metric", || counts("result=\"sent\"} 1").then_some(())).unwrap();

    assert_eq!(filter("a"), "", "it may be bound now");
    api.fail_at("csistoragecapacities", 403);
    fs::write(at("calendar.csv"), "today,closed\n").unwrap();
    wait_until("a closed node", || (filter("b") == "gate: closed").then_some(())).unwrap();
    fs::write(at("calendar.csv"), "tomorrow,closed\n").unwrap();
    wait_until("two attempts", || counts("result=\"failed\"} 2").then_some(())).unwrap();
    let refused = |line: &Value| line["object"] == "CSIStorageCapacity ops/plimsoll-wake" && line["level"] == "WARN";
    assert_eq!(gateway.count_log(refused), 1);
    let note = "kube-scheduler cannot be told to try rejected pods again: they may wait for 5 minutes: CSIStorageCapacity ops/plimsoll-wake: ";
    assert!(gateway.get("/readyz").unwrap().body.contains(note));
    api.recover();
    wait_until("a wake that works", || counts("result=\"sent\"} 2").then_some(())).unwrap();
    assert!(!gateway.get("/readyz").unwrap().body.contains(note));
}
