//! The sample policy `load-aware` between a real Prometheus and a real scheduler.

use std::{fs, path::Path};

use plimsoll_e2e::{ControlPlane, Prometheus, node, pod};
use plimsoll_harness::{FakeAnswer, FakeServer, Plimsoll, policies as samples, skip, tempdir, wait_until};
use serde_json::{Value, json};

const NODES: [&str; 3] = ["n1", "n2", "n3"];

/// Sets the load of each node, as its exporter would tell it.
fn measure(exporter: &FakeServer, loads: [f64; 3]) {
    let lines = NODES.iter().zip(loads).map(|(node, load)| format!("measured_load{{node=\"{node}\"}} {load}\n"));
    let headers = vec![("content-type", "text/plain; version=0.0.4".to_owned())];
    exporter.set("/metrics", FakeAnswer::Whole(200, headers, lines.collect::<String>().into_bytes()));
}

fn lay_policy(directory: &Path) {
    fs::copy(samples().join("load-aware.wasm"), directory.join("load-aware.wasm")).unwrap();
    fs::write(directory.join("load-aware.yaml"), "facts: [load]\nsettings: {maxLoad: 0.8}\n").unwrap();
}

/// Waits until exactly these nodes are refused.
fn wait_for_refused(gateway: &Plimsoll, expected: &[&str]) {
    let request = json!({"Pod": pod("default", "probe", "1", &json!({})), "Nodes": null, "NodeNames": NODES});
    let refused = || {
        let failed = gateway.ask("/filter", &request).unwrap()["FailedAndUnresolvableNodes"].clone();
        failed.as_object().cloned().unwrap_or_default().keys().cloned().collect::<Vec<_>>()
    };
    wait_until(&format!("{expected:?} to be refused"), || (refused() == expected).then_some(()))
        .unwrap_or_else(|error| panic!("{error}: {}", gateway.get("/api/facts").unwrap().body));
}

fn state(gateway: &Plimsoll) -> Value {
    let page: Value = serde_json::from_str(&gateway.get("/api/facts").unwrap().body).unwrap();
    page["sources"][0]["state"].clone()
}

#[test]
fn pods_avoid_the_nodes_whose_measured_load_rises() {
    if !Prometheus::is_installed() {
        return skip("prometheus is missing; install the Debian package of this name");
    }
    let exporter = FakeServer::start().unwrap();
    measure(&exporter, [0.1, 0.2, 0.3]);
    let mut prometheus = Prometheus::start(exporter.address()).unwrap();
    let (cluster, directory) = (ControlPlane::start().unwrap(), tempdir().unwrap());
    for name in NODES {
        cluster.create_node(&node(name, "a", "shared")).unwrap();
    }
    let (policies, facts) = (directory.path().join("policies"), directory.path().join("facts.yaml"));
    fs::create_dir(&policies).unwrap();
    lay_policy(&policies);
    let source = format!("{{url: '{}', query: measured_load, node: node, every: 1s}}", prometheus.url());
    fs::write(&facts, format!("load: {{prometheus: {source}, maxAge: 3s, round: 0.05}}\n")).unwrap();
    let args = ["--no-bind", "--facts", facts.to_str().unwrap()];
    let gateway = cluster.gateway_with_kubeconfig(&policies, &args).unwrap();
    let _scheduler = cluster.schedule_with(gateway.wire, &policies, &["--no-bind"]).unwrap();
    let place = |name: &str| {
        cluster.create(&pod("default", name, "100m", &json!({}))).unwrap();
        cluster.node_of("default", name).unwrap()
    };

    measure(&exporter, [0.95, 0.9, 0.3]);
    wait_for_refused(&gateway, &["n1", "n2"]);
    assert_eq!(["a", "b", "c"].map(place), ["n3"; 3]);
    measure(&exporter, [0.1, 0.9, 0.95]);
    wait_for_refused(&gateway, &["n2", "n3"]);
    assert_eq!(["d", "e", "f"].map(place), ["n1"; 3]);

    measure(&exporter, [0.95; 3]);
    wait_for_refused(&gateway, &NODES);
    cluster.create(&pod("default", "waits", "100m", &json!({}))).unwrap();
    let event = cluster.failure_of("default", "waits").unwrap();
    assert!(event.contains("load-aware: load is above 0.8"), "{event}");

    // Without Prometheus the values count until maxAge, and then the policy has its default.
    prometheus.stop();
    wait_for_refused(&gateway, &[]);
    assert_eq!((state(&gateway), gateway.get("/readyz").unwrap().status), (json!("absent"), 200));
    place("g");
    measure(&exporter, [0.95, 0.1, 0.95]);
    prometheus.start_again().unwrap();
    wait_for_refused(&gateway, &["n1", "n3"]);
    assert_eq!(place("h"), "n2");
}
