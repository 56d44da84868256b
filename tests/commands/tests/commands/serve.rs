//! `plimsoll serve`: readiness, the admin pages, the drain.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
};

use plimsoll_commands::{plimsoll, plimsoll_with};
use plimsoll_harness::{FakeApi, Plimsoll, guest, policies, tempdir, wait_until};
use serde_json::{Value, json};

use crate::{POD, text};

/// A full-node request about two nodes.
fn request() -> Value {
    let node =
        |name: &str, zone: &str| json!({"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}});
    let pod: Value = serde_json::from_str(POD).unwrap();
    json!({"Pod": pod, "Nodes": {"metadata": {}, "items": [node("n1", "a"), node("n2", "c")]}, "NodeNames": null})
}

fn put(directory: &Path, name: &str) {
    fs::copy(guest(name), directory.join("zone-drain.wasm")).unwrap();
}

#[test]
fn a_policy_dropped_into_the_directory_answers_without_a_restart() {
    let directory = tempdir().unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"], json!({}));
    put(directory.path(), "zone_drain_v1");
    let refused = wait_until("the policy to answer", || {
        let reply = gateway.ask("/filter", &request()).unwrap();
        reply["FailedAndUnresolvableNodes"]["n2"].as_str().map(ToOwned::to_owned)
    });
    assert_eq!(refused.unwrap(), "zone-drain: zone c is being drained");
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    assert_eq!(listed["policies"][0]["name"], "zone-drain");
    assert_eq!(listed["policies"][0]["state"], "active");
}

#[test]
fn serve_logs_by_name_that_a_large_module_is_compiled() {
    let directory = tempdir().unwrap();
    let module = fs::read(guest("zone_drain_v1")).unwrap();
    // A custom section of 2 MiB, with its size in LEB128.
    let section = [&[0, 0x80, 0x80, 0x80, 0x01, 1, b'p'][..], &vec![0; (2 << 20) - 2]].concat();
    let module = [module, section].concat();
    fs::write(directory.path().join("large.wasm"), &module).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let message = "compiling a large module";
    let is_told =
        |line: &Value| line["message"] == message && line["policy"] == "large" && line["bytes"] == module.len();
    gateway.wait_for_log(message, is_told).unwrap();
}

#[test]
fn a_bad_file_keeps_the_last_good_version_and_says_so() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    fs::write(directory.path().join("zone-drain.wasm"), "no wasm").unwrap();
    gateway.wait_for_log("the refusal", |line| line["policy"] == "zone-drain" && line["error"].is_string()).unwrap();
    let reply = gateway.ask("/filter", &request()).unwrap();
    assert_eq!(reply["FailedAndUnresolvableNodes"]["n2"], "zone-drain: zone c is being drained");
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    assert_eq!(listed["policies"][0]["state"], "kept");
    assert_eq!(gateway.get("/readyz").unwrap().status, 200);
}

#[test]
fn a_policy_that_cannot_load_at_the_start_keeps_it_unready_until_it_is_mended() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("zone-drain.wasm"), "no wasm").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let unready = gateway.get("/readyz").unwrap();
    assert_eq!(unready.status, 503);
    assert!(unready.body.contains("zone-drain"), "{unready:?}");
    assert_eq!(gateway.get("/healthz").unwrap().status, 200);
    let error = gateway.ask("/filter", &request()).unwrap()["Error"].to_string();
    assert!(error.contains("policy zone-drain failed to filter: not-loaded"), "{error}");
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(metrics.contains("plimsoll_policies{state=\"failed\"} 1"), "{metrics}");
    assert!(metrics.contains("plimsoll_policies{state=\"active\"} 0"), "{metrics}");
    put(directory.path(), "zone_drain_v1");
    wait_until("readiness", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();

    let switched_off = tempdir().unwrap();
    fs::write(switched_off.path().join("bad.wasm"), "no wasm").unwrap();
    let gateway = Plimsoll::serve(switched_off.path(), &["--no-compile-cache"]).unwrap();
    assert_eq!(gateway.get("/readyz").unwrap().status, 503);
    fs::write(switched_off.path().join("bad.yaml"), "mode: off\n").unwrap();
    wait_until("readiness", || (gateway.get("/readyz").unwrap().status == 200).then_some(())).unwrap();
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["Error"], "");
    assert!(gateway.get("/metrics").unwrap().body.contains("plimsoll_policies{state=\"off\"} 1"));

    let degraded = tempdir().unwrap();
    fs::write(degraded.path().join("bad.wasm"), "no wasm").unwrap();
    let gateway = Plimsoll::serve(degraded.path(), &["--no-compile-cache", "--allow-degraded"]).unwrap();
    assert_eq!(gateway.get("/readyz").unwrap().status, 200);
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["Error"], "");
}

#[test]
fn a_bad_file_before_the_first_probe_is_no_bad_start() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    fs::write(directory.path().join("other.wasm"), "no wasm").unwrap();
    gateway.wait_for_log("the refusal", |line| line["policy"] == "other" && line["error"].is_string()).unwrap();
    // The log is a moment ahead.
    let told = || gateway.get("/readyz").ok().filter(|reply| reply.body.contains("policy other: "));
    let ready = wait_until("the refusal to be told", told).unwrap();
    assert!(ready.status == 200 && ready.body.starts_with("ok\nnote: "), "{ready:?}");
}

#[test]
fn an_emptied_directory_keeps_its_policies_and_an_empty_one_is_not_ready() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    assert_eq!(gateway.get("/readyz").unwrap().body, "ok\n");
    fs::remove_file(directory.path().join("zone-drain.wasm")).unwrap();
    let told = |line: &Value| line["error"].as_str().is_some_and(|error| error.contains("no policy files any more"));
    gateway.wait_for_log("the complaint", told).unwrap();
    let ready = gateway.get("/readyz").unwrap();
    assert!(ready.status == 200 && ready.body.contains("its 1 last good policies stay in force"), "{ready:?}");
    assert_eq!(
        gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"]["n2"],
        "zone-drain: zone c is being drained"
    );
    assert!(gateway.get("/metrics").unwrap().body.contains("plimsoll_policies{state=\"vanished\"} 1"));
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    assert_eq!(listed["policies"][0]["state"], "vanished");
    // A first file that is refused is no sign that the others were meant to go.
    fs::write(directory.path().join("new.wasm"), "no wasm").unwrap();
    let told = |line: &Value| line["error"].as_str().is_some_and(|error| error.contains("no policy file that loads"));
    gateway.wait_for_log("the other complaint", told).unwrap();
    assert_eq!(
        gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"]["n2"],
        "zone-drain: zone c is being drained"
    );
    fs::remove_file(directory.path().join("new.wasm")).unwrap();

    let unready = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap().get("/readyz").unwrap();
    let name = format!("{} holds no policies", directory.path().display());
    assert!(unready.status == 503 && unready.body.contains(&name), "{unready:?}");
    let degraded = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--allow-degraded"]).unwrap();
    let unready = degraded.get("/readyz").unwrap();
    assert!(unready.status == 503 && unready.body.contains(&name), "{unready:?}");
    let allowed = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--allow-empty"]).unwrap();
    assert_eq!(allowed.get("/readyz").unwrap().body, "ok\n");
    let printed = plimsoll(directory.path(), &["scheduler-config", "--no-compile-cache", "--policies", "."]).unwrap();
    assert!(
        printed.code == Some(2) && printed.err.contains("holds no policy that kube-scheduler could ask"),
        "{printed:?}"
    );
}

#[test]
fn a_policy_that_reads_placed_pods_is_told_of_where_none_are_known() {
    let directory = tempdir().unwrap();
    for file in ["zone-spread.wasm", "zone-spread.yaml"] {
        fs::copy(policies().join(file), directory.path().join(file)).unwrap();
    }
    let blind = |gateway: &Plimsoll| {
        let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
        let metrics = gateway.get("/metrics").unwrap().body;
        let told = gateway.get("/readyz").unwrap();
        let says_so = told.status == 200 && told.body.contains("policy zone-spread: it reads the pods on nodes");
        (says_so, listed["policies"][0]["missing"] == json!(["placed"]), metrics.contains("policies_without_pods 1"))
    };
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    assert_eq!(blind(&gateway), (true, true, true));
    let told = |line: &Value| {
        let message = line["message"].as_str().unwrap_or_default();
        line["policy"] == "zone-spread" && message.starts_with("it reads the pods on nodes")
    };
    gateway.wait_for_log("the warning", told).unwrap();

    let snapshot = directory.path().join("cluster.json");
    let node = json!({"kind": "Node", "metadata": {"name": "n1"}});
    fs::write(&snapshot, json!({"kind": "List", "items": [node]}).to_string()).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--snapshot", text(&snapshot)]).unwrap();
    assert_eq!(blind(&gateway), (false, false, false));
}

#[test]
fn what_a_sidecar_says_for_nothing_is_told_by_readyz_api_policies_and_check() {
    let directory = tempdir().unwrap();
    let (policies, snapshot) = (directory.path().join("policies"), directory.path().join("cluster.json"));
    fs::create_dir(&policies).unwrap();
    put(&policies, "zone_drain_v1");
    let sidecar = "match: {namespaces: [labb]}\nweight: 5\nfacts: [load]\n";
    fs::write(policies.join("zone-drain.yaml"), sidecar).unwrap();
    fs::copy(policies.join("zone-drain.wasm"), policies.join("web.wasm")).unwrap();
    fs::write(policies.join("web.yaml"), "match: {podSelector: {matchLabels: {app: wbe}}}\n").unwrap();
    let pod =
        json!({"kind": "Pod", "metadata": {"name": "p", "namespace": "lab", "uid": "p"}, "spec": {"nodeName": "n1"}});
    let named = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
    let items = [named("Node", "n1"), named("Namespace", "lab"), pod];
    fs::write(&snapshot, json!({"kind": "List", "items": items}).to_string()).unwrap();
    let gateway = Plimsoll::serve(&policies, &["--no-compile-cache", "--snapshot", text(&snapshot)]).unwrap();
    let expected = [
        "match.namespaces: the cluster has no namespace labb",
        "the weight 5 has no effect: the policy does not score",
        "facts: load: no source of facts has this name",
    ];
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    let (ready, told) = (gateway.get("/readyz").unwrap().body, &listed["policies"][1]["withoutEffect"]);
    for (at, text) in expected.iter().enumerate() {
        assert!(ready.contains(&format!("policy zone-drain: {text}")), "{ready}");
        assert!(told[at].as_str().is_some_and(|told| told.starts_with(text)), "{listed}");
    }
    let nobody = "policy web: its match has no effect yet: it matches none of 1 pod on nodes";
    assert!(ready.contains(nobody), "{ready}");
    fs::remove_file(policies.join("web.wasm")).unwrap();
    fs::remove_file(policies.join("web.yaml")).unwrap();
    let check = |sidecar: &str, more: &[&str]| {
        fs::write(policies.join("zone-drain.yaml"), sidecar).unwrap();
        let args = ["check", "--snapshot", text(&snapshot), text(&policies)];
        crate::run(&[&args, more].concat())
    };
    assert_eq!(check(sidecar, &[]).code, Some(0));
    let refused = check("weight: 5\n", &["--strict"]);
    assert!(refused.code == Some(1) && refused.out.contains("REFUSED, the weight 5 has no effect"), "{refused:?}");
    let refused = check("match: {namespaces: [labb]}\n", &["--strict"]);
    assert!(refused.code == Some(1) && refused.out.contains("it matches none of 1 pod"), "{refused:?}");
    assert_eq!(check("match: {namespaces: [lab]}\n", &["--strict"]).code, Some(0));
}

#[test]
fn metrics_tell_what_each_policy_did() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    fs::write(directory.path().join("zone-drain.yaml"), "match: {namespaces: [team-a]}\n").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let asked = || {
        let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
        assert!(listed["policies"][0]["askedSince"].as_str().unwrap().ends_with('Z'), "{listed}");
        assert_eq!(listed["policies"][0]["match"], json!({"namespaces": ["team-a"]}), "{listed}");
        listed["policies"][0]["asked"].clone()
    };
    let series =
        "plimsoll_policy_calls_total{policy=\"zone-drain\",verb=\"filter\",mode=\"enforce\",outcome=\"answered\"} 0";
    assert!(gateway.get("/metrics").unwrap().body.contains(series), "it is there before the first call");
    assert_eq!(asked(), 0);
    gateway.ask("/filter", &request()).unwrap();
    assert_eq!(asked(), 1);
    let metrics = gateway.get("/metrics").unwrap().body;
    for line in [
        "plimsoll_policy_calls_total{policy=\"zone-drain\",verb=\"filter\",mode=\"enforce\",outcome=\"answered\"} 1",
        "plimsoll_policy_rejections_total{policy=\"zone-drain\",verb=\"filter\",mode=\"enforce\"} 1",
        "plimsoll_policy_duration_seconds_bucket{le=\"0.000005\"",
        "plimsoll_policies{state=\"active\"} 1",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
}

/// A score that panics for pods of the app `train`, and has answered for those of `api`.
#[test]
fn while_a_circuit_is_open_cached_answers_are_used_and_readyz_names_the_policy() {
    let directory = tempdir().unwrap();
    fs::copy(guest("fragile"), directory.path().join("fragile.wasm")).unwrap();
    fs::write(directory.path().join("fragile.yaml"), "onError: fail\n").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let prioritize = |app: &str| {
        let mut request = request();
        request["Pod"]["metadata"]["labels"]["app"] = app.into();
        gateway.post("/prioritize", &request).unwrap().body
    };
    let evaluations = || -> String {
        let metrics = gateway.get("/metrics").unwrap().body;
        let line = metrics.lines().find(|line| line.starts_with("plimsoll_policy_evaluations_total{"));
        line.unwrap_or_default().to_owned()
    };
    let good = prioritize("api");
    assert_eq!(serde_json::from_str::<Value>(&good).unwrap()[0]["Score"], 5, "{good}");
    wait_until("the answer to be cached", || {
        let before = evaluations();
        (prioritize("api") == good && evaluations() == before).then_some(())
    })
    .unwrap();
    assert_eq!(gateway.get("/readyz").unwrap().body, "ok\n");
    for number in 0..5 {
        let mut request = request();
        request["Pod"]["metadata"]["labels"]["app"] = "train".into();
        request["Pod"]["metadata"]["uid"] = number.to_string().into();
        gateway.post("/prioritize", &request).unwrap();
    }
    let ready = gateway.get("/readyz").unwrap();
    let note = "note: policy fragile: its circuit is open for score after 5 consecutive faults";
    assert!(ready.status == 200 && ready.body.contains(note), "{ready:?}");
    let last = ready.body.lines().find(|line| line.starts_with("note: policy fragile: its last fault, at 2")).unwrap();
    for part in ["Z: score of pod team-a/api-0: panic: ", "I did not expect this app", "; it was asked about n"] {
        assert!(last.contains(part), "{last}");
    }
    let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
    let last = &listed["policies"][0]["lastFault"];
    assert_eq!([&last["verb"], &last["fault"], &last["pod"]], ["score", "panic", "team-a/api-0"], "{last}");
    assert_eq!(prioritize("api"), good);
    let refused = prioritize("batch");
    assert!(refused.contains("circuit-open"), "{refused}");
}

#[test]
fn a_policy_in_shadow_is_recorded_and_never_obeyed() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    fs::write(directory.path().join("zone-drain.yaml"), "mode: shadow\n").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    assert_eq!(gateway.ask("/filter", &request()).unwrap()["FailedAndUnresolvableNodes"], json!({}));
    let line = "plimsoll_policy_rejections_total{policy=\"zone-drain\",verb=\"filter\",mode=\"shadow\"} 1";
    wait_until("the record", || gateway.get("/metrics").unwrap().body.contains(line).then_some(())).unwrap();
}

#[test]
fn names_mode_reads_the_snapshot_again_when_it_changes() {
    let directory = tempdir().unwrap();
    let (dir, snapshot) = (directory.path().join("policies"), directory.path().join("cluster.json"));
    fs::create_dir(&dir).unwrap();
    put(&dir, "zone_drain_v1");
    let list = |zone: &str| {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        json!({"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n1", "labels": labels}}]}).to_string()
    };
    fs::write(&snapshot, list("a")).unwrap();
    let gateway = Plimsoll::serve(&dir, &["--no-compile-cache", "--snapshot", text(&snapshot)]).unwrap();
    let pod: Value = serde_json::from_str(POD).unwrap();
    let request = json!({"Pod": pod, "Nodes": null, "NodeNames": ["n1", "n2"]});
    let reply = gateway.ask("/filter", &request).unwrap();
    assert_eq!(reply["NodeNames"], json!(["n1"]));
    assert_eq!(reply["FailedAndUnresolvableNodes"]["n2"], "plimsoll: node not seen yet");
    fs::write(&snapshot, list("c")).unwrap();
    wait_until("the new label", || {
        (gateway.ask("/filter", &request).unwrap()["FailedAndUnresolvableNodes"]["n1"]
            == "zone-drain: zone c is being drained")
            .then_some(())
    })
    .unwrap();
    fs::write(&snapshot, "{").unwrap();
    gateway
        .wait_for_log("the complaint", |line| {
            line["message"].as_str().is_some_and(|text| text.contains("last good one stays"))
        })
        .unwrap();
    assert_eq!(gateway.ask("/filter", &request).unwrap()["NodeNames"], json!([]));
    // The note stays until the file can be read, though its content may be the one from before.
    let note = "note: the snapshot cannot be read: the last good one stays: ";
    assert!(gateway.get("/readyz").unwrap().body.contains(note));
    fs::remove_file(&snapshot).unwrap();
    let missing = || gateway.get("/readyz").unwrap().body.contains("No such file").then_some(());
    wait_until("a note on the missing file", missing).unwrap();
    fs::write(&snapshot, list("c")).unwrap();
    wait_until("no note", || (!gateway.get("/readyz").unwrap().body.contains("snapshot")).then_some(())).unwrap();
}

#[test]
fn sigterm_ends_it_with_success() {
    let mut gateway = Plimsoll::serve(policies(), &["--no-compile-cache"]).unwrap();
    gateway.signal("TERM").unwrap();
    assert!(gateway.wait().unwrap().success());
}

#[test]
fn a_request_in_flight_is_finished_after_sigterm() {
    let directory = tempdir().unwrap();
    put(directory.path(), "zone_drain_v1");
    let mut gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let body = request().to_string();
    let mut connection = BufReader::new(TcpStream::connect(gateway.wire).unwrap());
    let head = format!(
        "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    connection.get_mut().write_all(head.as_bytes()).unwrap();
    let mut line = String::new();
    connection.read_line(&mut line).unwrap();
    assert!(line.contains("100"), "the request has been taken: {line}");
    gateway.signal("TERM").unwrap();
    gateway
        .wait_for_log("the drain", |line| line["message"].as_str().is_some_and(|text| text.starts_with("SIGTERM")))
        .unwrap();
    let readiness = gateway.get("/readyz").unwrap();
    assert_eq!((readiness.status, readiness.body.as_str()), (503, "shutting down\n"));
    assert_eq!(gateway.get("/metrics").unwrap().status, 200, "metrics of the drain can be read");
    connection.get_mut().write_all(body.as_bytes()).unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("200 OK") && reply.contains("zone c is being drained"), "{reply}");
    assert!(gateway.wait().unwrap().success());
}

#[test]
fn a_default_cache_that_cannot_be_used_is_done_without_and_one_that_was_asked_for_is_not() {
    let directory = tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let in_the_way = text(&file);
    let printed = plimsoll(directory.path(), &["check", "--compile-cache", in_the_way, "absent.wasm"]).unwrap();
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.err.contains("cannot keep compiled modules in"), "{printed:?}");
    let printed =
        plimsoll_with(directory.path(), &[("XDG_CACHE_HOME", in_the_way)], &["check", "absent.wasm"]).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let remark = "plimsoll: compiled policies are not cached, so each start compiles them again; --compile-cache names another directory (";
    assert!(printed.err.contains(remark) && printed.err.contains(in_the_way), "{printed:?}");
}

#[test]
fn an_api_server_that_never_answered_is_visible_in_the_metrics() {
    let directory = tempdir().unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    // Nothing listens on port 1.
    let text = "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], \
        users: [{name: c, user: {}}], contexts: [{name: c, context: {cluster: c, user: c}}]}";
    fs::write(&kubeconfig, text).unwrap();
    let policies = tempdir().unwrap();
    put(policies.path(), "zone_drain_v1");
    let kubeconfig = kubeconfig.display().to_string();
    let flags = ["--no-compile-cache", "--no-bind", "--kubeconfig", &kubeconfig];
    let gateway = Plimsoll::serve(policies.path(), &flags).unwrap();
    let text = |name: &str| {
        let page = gateway.get("/metrics").unwrap().body;
        let line = page.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {page}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let staleness = || text("plimsoll_watch_staleness_seconds{resource=\"nodes\"}").parse::<f64>().unwrap();
    let first = staleness();
    wait_until("the silence to grow", || (staleness() > first).then_some(())).unwrap();
    assert_eq!(text("plimsoll_watch_staleness_limit_seconds{resource=\"pods\"}"), "180.0");
    assert_eq!(text("plimsoll_ready "), "0");
}

#[test]
fn a_problem_of_the_directory_is_no_refused_policy_and_an_ignored_file_is_named() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("Warm.WASM"), "no wasm").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let has = |line: &Value, key: &str, part: &str| line[key].as_str().is_some_and(|text| text.contains(part));
    let problem =
        |line: &Value| has(line, "message", "the policy directory has a problem: no policy of it is in force");
    let line = gateway.wait_for_log("the problem", problem).unwrap();
    assert!(has(&line, "name", "(directory)") && has(&line, "error", "holds no policies"), "{line:#}");
    let ignored = |line: &Value| {
        has(line, "message", "a file of the policy directory is ignored") && has(line, "file", "Warm.WASM")
    };
    gateway.wait_for_log("the ignored file", ignored).unwrap();
    assert_eq!(gateway.count_log(|line| has(line, "message", "policy refused")), 0);
    let ready = gateway.get("/readyz").unwrap().body;
    assert!(ready.contains("holds no policies") && !ready.contains("policy (directory)"), "{ready}");
}

#[test]
fn a_bad_name_beside_policies_that_run_says_that_they_are_not_affected() {
    let directory = tempdir().unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("zone.wasm")).unwrap();
    fs::create_dir(directory.path().join("GPU")).unwrap();
    fs::copy(guest("zone_drain_v1"), directory.path().join("GPU/zone.wasm")).unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache"]).unwrap();
    let text = "the policy directory has a problem: nothing of this name is in force; other policies are not affected";
    let line = gateway.wait_for_log("the problem", |line| line["message"] == text).unwrap();
    assert_eq!(line["name"], "GPU", "{line:#}");
    assert!(line["error"].as_str().unwrap().contains("'GPU' is no name for a group"), "{line:#}");
}

#[test]
fn a_gateway_that_does_not_bind_says_which_limits_are_not_guaranteed() {
    let (directory, api) = (tempdir().unwrap(), FakeApi::start([json!({"metadata": {"name": "n1"}})], []).unwrap());
    fs::copy(guest("at_most"), directory.path().join("at-most.wasm")).unwrap();
    fs::write(directory.path().join("at-most.yaml"), "settings: {label: app, on_node: 4}\n").unwrap();
    let kubeconfig = api.kubeconfig();
    let text = "its filter counts pods, and this plimsoll does not bind: pods that are bound at the same time can pass its limit, and gangs can be bound in part";
    for (args, expected) in [(&["--no-bind"][..], json!(text)), (&["--lease-namespace", "default"], Value::Null)] {
        let args = [&["--no-compile-cache", "--kubeconfig", kubeconfig.to_str().unwrap()], args].concat();
        let gateway = Plimsoll::serve(directory.path(), &args).unwrap();
        let listed: Value = serde_json::from_str(&gateway.get("/api/policies").unwrap().body).unwrap();
        assert_eq!(listed["policies"][0]["notGuaranteed"], expected, "{listed}");
        if !expected.is_null() {
            gateway.wait_for_log("the warning", |line| line["message"] == text && line["level"] == "WARN").unwrap();
        }
    }
}
