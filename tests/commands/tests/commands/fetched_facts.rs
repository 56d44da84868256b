//! `serve --facts`: from a source to the answers of a policy, and what operators see of it.

use std::{fs, path::Path};

use plimsoll_harness::{FakeAnswer, FakeApi, FakeServer, Plimsoll, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, run, text};

/// A directory with the policy `busy`, which scores by the source `load` and closes nodes by `calendar`.
fn write_policies(of: &Path) {
    let module = plimsoll_guests::compile("facts", include_str!("../../../guests/guests/good/facts.wat"));
    fs::create_dir(of).unwrap();
    fs::write(of.join("busy.wasm"), module).unwrap();
    fs::write(of.join("busy.yaml"), "facts: [load, calendar]\n").unwrap();
}

/// A request about three nodes by name.
fn request() -> Value {
    let pod: Value = serde_json::from_str(POD).unwrap();
    json!({"Pod": pod, "Nodes": null, "NodeNames": ["n1", "n2", "n3"]})
}

fn node(name: &str, address: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": address}]}})
}

fn scores(gateway: &Plimsoll) -> Vec<Value> {
    let scores = gateway.ask("/prioritize", &request()).unwrap();
    scores.as_array().unwrap().iter().map(|score| score["Score"].clone()).collect()
}

fn source(gateway: &Plimsoll, name: &str) -> Value {
    let page: Value = serde_json::from_str(&gateway.get("/api/facts").unwrap().body).unwrap();
    page["sources"].as_array().unwrap().iter().find(|source| source["source"] == name).unwrap().clone()
}

#[test]
fn a_measured_value_reaches_the_answers_of_a_policy_and_leaves_them_when_it_is_too_old() {
    let (directory, prometheus) = (tempdir().unwrap(), FakeServer::start().unwrap());
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
    let api = FakeApi::start([node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), node("n3", "10.0.0.3")], []).unwrap();
    api.put_config_map("ops", "calendar", json!({"tomorrow": "closed\n"}));
    prometheus.set("/api/v1/query", FakeAnswer::samples(&[("10.0.0.1:9100", "0.2"), ("n2:9100", "0.9")]));
    let url = prometheus.url("");
    let facts = format!(
        "load: {{prometheus: {{url: '{url}', query: q, node: instance, every: 1s}}, maxAge: 5s}}\n\
         calendar: {{configMap: {{namespace: ops, name: calendar, every: 1s}}}}\n"
    );
    fs::write(at("facts.yaml"), facts).unwrap();
    let (file, kubeconfig) = (at("facts.yaml"), api.kubeconfig());
    let args = ["--no-compile-cache", "--no-bind", "--facts", text(&file), "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(&at("policies"), &args).unwrap();
    let wait_for = |expected: [u64; 3]| {
        let same = || (scores(&gateway) == expected.map(Value::from)).then_some(());
        wait_until(&format!("the scores {expected:?}"), same)
            .unwrap_or_else(|error| panic!("{error}: {:?}", scores(&gateway)));
    };
    wait_until("the cluster", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    // A node without a sample has 50 of 100.
    wait_for([2, 9, 5]);
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"], json!({}));
    api.put_config_map("ops", "calendar", json!({"today": "closed\n"}));
    wait_until("the calendar", || {
        let reply = gateway.ask("/filter", &request()).unwrap();
        (reply["FailedAndUnresolvableNodes"]["n1"] == "busy: closed").then_some(())
    })
    .unwrap();
    let shown = source(&gateway, "load");
    assert_eq!(
        (&shown["state"], &shown["kind"], &shown["values"]),
        (&json!("in-force"), &json!("prometheus"), &json!(2))
    );
    assert_eq!((&shown["place"], &shown["policies"]), (&json!(format!("{url}/api/v1/query")), &json!(["busy"])));
    // Prometheus goes away: the values stay until maxAge, then the policy has its default.
    prometheus.set("/api/v1/query", FakeAnswer::CutOff);
    wait_for([5, 5, 5]);
    gateway.wait_for_log("the failure", |line| line["source"] == "load" && line["error"].is_string()).unwrap();
    assert_eq!(source(&gateway, "load")["state"], "absent");
    assert_eq!(gateway.get("/readyz").unwrap().status, 200);
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(metrics.contains("plimsoll_facts_max_age_seconds{source=\"load\"} 5.0"), "{metrics}");
    prometheus.set("/api/v1/query", FakeAnswer::samples(&[("n3", "0.7")]));
    wait_for([5, 5, 7]);
    let of_facts = |line: &Value| line["target"] == "plimsoll::facts";
    let recovery = |line: &Value| of_facts(line) && line["message"] == "the source of facts can be read again";
    gateway.wait_for_log("the recovery", recovery).unwrap();
}

#[test]
fn facts_in_force_are_written_as_snapshot_commands_read_them() {
    let (directory, prometheus) = (tempdir().unwrap(), FakeServer::start().unwrap());
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
    let nodes = [node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), node("n3", "10.0.0.3")];
    let api = FakeApi::start(nodes.clone(), []).unwrap();
    prometheus.set("/api/v1/query", FakeAnswer::samples(&[("10.0.0.1:9100", "0.2"), ("n2:9100", "0.9")]));
    fs::write(at("calendar.csv"), "today,\"closed, \"\"all\"\" day\"\n").unwrap();
    let facts = format!(
        "load: {{prometheus: {{url: '{}', query: q, node: instance}}}}\ncalendar: {{file: {{path: calendar.csv}}}}\n",
        prometheus.url("")
    );
    fs::write(at("facts.yaml"), facts).unwrap();
    let (file, kubeconfig) = (at("facts.yaml"), api.kubeconfig());
    let args = ["--no-compile-cache", "--no-bind", "--facts", text(&file), "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(&at("policies"), &args).unwrap();
    wait_until("the facts", || (scores(&gateway) == [2, 9, 5].map(Value::from)).then_some(())).unwrap();
    wait_until("the calendar", || (source(&gateway, "calendar")["state"] == "in-force").then_some(())).unwrap();
    let page = gateway.get("/api/facts?values=load,calendar").unwrap();
    let expected = json!({"load": {"10.0.0.1": 0.2, "n2": 0.9}, "calendar": {"today": "closed, \"all\" day"}});
    assert_eq!(serde_json::from_str::<Value>(&page.body).unwrap(), expected);
    assert_eq!(
        gateway.get("/api/facts?values=budget").unwrap().body,
        "there is no source of facts 'budget': /api/facts lists them\n"
    );
    // The same answers follow from the page and from the sources.
    let items: Vec<Value> = nodes.into_iter().map(with_kind).collect();
    fs::write(at("nodes.json"), json!({"kind": "List", "items": items}).to_string()).unwrap();
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("facts-snapshot.json"), page.body).unwrap();
    let files = ["policies", "pod.json", "nodes.json", "facts-snapshot.json"].map(at);
    let [policies, pod, nodes, snapshot] = files.each_ref().map(|file| text(file));
    let from = ["--policies", policies, "--pod", pod, "--snapshot", nodes, "--facts-snapshot", snapshot];
    let printed = run(&[&["run", "--no-compile-cache", "--output", "json"][..], &from].concat());
    assert_eq!((printed.code, &*printed.err), (Some(0), ""), "{printed:?}");
    let answers: Value = serde_json::from_str(&printed.out).unwrap();
    let failed = &gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"];
    for (node, score) in [(0, 20), (1, 90), (2, 50)] {
        let shown = &answers["nodes"][node];
        assert_eq!(shown["decision"]["reason"], failed[shown["node"].as_str().unwrap()], "{shown}");
        assert_eq!(shown["answers"][1]["answer"]["score"], json!(score), "{shown}");
    }
}

fn with_kind(mut node: Value) -> Value {
    node["kind"] = "Node".into();
    node
}

#[test]
fn a_source_that_nobody_has_declared_is_named() {
    let directory = tempdir().unwrap();
    write_policies(&directory.path().join("policies"));
    let gateway = Plimsoll::serve(&directory.path().join("policies"), &["--no-compile-cache"]).unwrap();
    let warning = |line: &Value| line["source"] == "load" && line["policy"] == "busy";
    gateway.wait_for_log("a warning", warning).unwrap();
    assert_eq!(source(&gateway, "load"), json!({"source": "load", "state": "not-declared", "policies": ["busy"]}));
}

#[test]
fn a_bad_facts_file_ends_the_start_with_its_place() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
    let serve = |file: &str, facts: &str| {
        fs::write(at(file), facts).unwrap();
        let (file, policies) = (at(file), at("policies"));
        let printed = run(&["serve", "--no-compile-cache", "--policies", text(&policies), "--facts", text(&file)]);
        assert_eq!(printed.code, Some(2), "{printed:?}");
        printed.err
    };
    let error = serve("facts.yaml", "load:\n  prometheus: {url: 'ftp://p', query: q}\n");
    assert!(error.contains("facts.yaml:2:21: load.prometheus.url: its scheme is neither http nor https"), "{error}");
    let error = serve("facts.yaml", "a: {configMap: {namespace: a, name: b}}\n");
    assert!(error.contains(".configMap: this gateway has no API server"), "{error}");
}

/// The part of `/api/facts` about the facts file.
fn facts_file(gateway: &Plimsoll) -> Value {
    serde_json::from_str::<Value>(&gateway.get("/api/facts").unwrap().body).unwrap()["file"].clone()
}

#[test]
fn a_changed_facts_file_comes_into_force_as_a_whole_or_the_last_good_one_stays() {
    let (directory, server) = (tempdir().unwrap(), FakeServer::start().unwrap());
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
    let api = FakeApi::start([node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), node("n3", "10.0.0.3")], []).unwrap();
    server.set("/one", FakeAnswer::json(&json!({"n1": 0.1, "n2": 0.2, "n3": 0.3})));
    server.set("/two", FakeAnswer::json(&json!({"n1": 0.7, "n2": 0.8, "n3": 0.9})));
    let write = |text: &str| {
        // As a mounted ConfigMap changes.
        fs::write(at("new.yaml"), text).unwrap();
        fs::rename(at("new.yaml"), at("facts.yaml")).unwrap();
    };
    let load = |path: &str| format!("load: {{http: {{url: '{}', every: 1h}}}}\n", server.url(path));
    write(&load("/one"));
    let (file, kubeconfig) = (at("facts.yaml"), api.kubeconfig());
    let args = ["--no-compile-cache", "--no-bind", "--facts", text(&file), "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(&at("policies"), &args).unwrap();
    wait_until("the cluster", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    let wait_for = |expected: [u64; 3]| {
        let same = || (scores(&gateway) == expected.map(Value::from)).then_some(());
        wait_until(&format!("the scores {expected:?}"), same).unwrap();
    };
    wait_for([1, 2, 3]);
    // It is refused as a whole, with its good source.
    write(&format!("{}racks: {{http: {{url: 'http://a/', maxAge: 2m}}}}\n", load("/two")));
    let refused = || facts_file(&gateway)["error"].as_str().map(str::to_owned);
    let error = wait_until("the refusal", refused).unwrap();
    assert!(error.contains("racks.http: unknown key 'maxAge'"), "{error}");
    wait_for([1, 2, 3]);
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(metrics.contains("plimsoll_facts_file_refused 1"), "{metrics}");
    gateway
        .wait_for_log("the refusal", |line| {
            line["message"] == "the facts file has changed and cannot be used: the previous sources stay in force"
        })
        .unwrap();
    write(&load("/two"));
    wait_for([7, 8, 9]);
    assert_eq!(facts_file(&gateway), json!({"path": text(&file), "error": null}));
    assert!(gateway.get("/metrics").unwrap().body.contains("plimsoll_facts_file_refused 0"));
    // A source that is no longer declared has no facts.
    write("{}");
    wait_for([5, 5, 5]);
    assert_eq!(source(&gateway, "load")["state"], "not-declared");
}

#[test]
fn a_log_line_about_an_absent_fact_names_the_key_that_decides_its_effect() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
    fs::write(at("policies/busy.yaml"), "facts: [load, calendar]\nabsent: ignore\n").unwrap();
    let api = FakeApi::start(["n1", "n2", "n3"].map(|name| node(name, "10.0.0.1")), []).unwrap();
    let kubeconfig = api.kubeconfig();
    let args = ["--no-compile-cache", "--no-bind", "--kubeconfig", text(&kubeconfig)];
    let gateway = Plimsoll::serve(&at("policies"), &args).unwrap();
    wait_until("the cluster", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"], json!({}));
    let line = gateway.wait_for_log("the fault", |line| line["fault"] == "absent-fact").unwrap();
    assert_eq!((&line["absent"], &line["onError"]), (&json!("ignore"), &Value::Null), "{line}");
}
