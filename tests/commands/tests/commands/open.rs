//! A gateway whose ports are open to the network: its answers to strangers.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use plimsoll_harness::{Authority, Plimsoll, Purpose, tempdir};
use serde_json::{Value, json};

use crate::text;

fn bind() -> Value {
    json!({"PodName": "p", "PodNamespace": "default", "PodUID": "u", "Node": "n1"})
}

fn error(gateway: &Plimsoll) -> String {
    gateway.ask("/bind", &bind()).unwrap()["Error"].as_str().unwrap().to_owned()
}

#[test]
fn a_bind_on_an_open_port_is_refused_logged_and_counted_and_a_flood_fills_no_log() {
    let directory = tempdir().unwrap();
    let gateway = Plimsoll::serve_at("0.0.0.0:0", directory.path(), &["--no-compile-cache"]).unwrap();
    for _ in 0..40 {
        let error = error(&gateway);
        assert!(error.starts_with("plimsoll does not bind for a client without a certificate: "), "{error}");
    }
    let is_refusal = |line: &Value| line["message"].as_str().is_some_and(|text| text.starts_with("a bind was refused"));
    let line = gateway.wait_for_log("the refusal", is_refusal).unwrap();
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    assert!(gateway.count_log(is_refusal) <= 10);
    let metrics = gateway.get("/metrics").unwrap().body;
    assert!(metrics.contains("plimsoll_binds_denied_total{reason=\"no_certificate\"} 40\n"), "{metrics}");
    // Everybody may ask.
    let nodes = json!({"Pod": {}, "Nodes": {"items": [{"metadata": {"name": "n1"}}]}});
    assert_eq!(gateway.ask("/filter", &nodes).unwrap()["Error"], "");
}

#[test]
fn who_was_told_that_the_network_is_trusted_tries_to_bind_for_everybody() {
    let directory = tempdir().unwrap();
    for (listen, flags) in [("127.0.0.1:0", &[][..]), ("0.0.0.0:0", &["--bind-without-authentication"])] {
        let args = [&["--no-compile-cache"], flags].concat();
        let gateway = Plimsoll::serve_at(listen, directory.path(), &args).unwrap();
        let error = error(&gateway);
        assert!(error.starts_with("plimsoll cannot bind without the API server"), "{listen} {flags:?}: {error}");
    }
}

#[test]
fn a_gateway_that_nobody_may_ask_for_binds_says_so_at_the_start() {
    let directory = tempdir().unwrap();
    let authority = Authority::new("plimsoll-test").unwrap();
    authority.issue(Purpose::Server).unwrap().write(directory.path(), "tls").unwrap();
    fs::write(directory.path().join("ca.crt"), authority.pem()).unwrap();
    // There is no API server: nothing is asked of one before it is listed.
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n\
                  clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {token: t}}]\n";
    let (kubeconfig, policies) = (directory.path().join("kubeconfig"), tempdir().unwrap());
    fs::write(&kubeconfig, config).unwrap();
    let file = |name: &str| text(&directory.path().join(name)).to_owned();
    let (cert, key, ca) = (file("tls.crt"), file("tls.key"), file("ca.crt"));
    let tls = ["--tls-cert", &cert, "--tls-key", &key];
    let table: [(&str, Vec<&str>, bool); 6] = [
        ("0.0.0.0:0", vec![], true),
        ("127.0.0.1:0", vec![], false),
        ("0.0.0.0:0", vec!["--no-bind"], false),
        ("0.0.0.0:0", tls.to_vec(), true),
        ("0.0.0.0:0", [&tls[..], &["--tls-client-ca", &ca]].concat(), false),
        ("0.0.0.0:0", [&tls[..], &["--tls-client-ca", &ca, "--bind-clients="]].concat(), true),
    ];
    for (listen, flags, expected) in table {
        let args = [&["--no-compile-cache", "--kubeconfig", text(&kubeconfig)], &flags[..]].concat();
        let gateway = Plimsoll::serve_at(listen, policies.path(), &args).unwrap();
        let nobody = |line: &Value| {
            line["message"].as_str().is_some_and(|text| text.starts_with("nobody may ask this gateway to bind: "))
        };
        // The line with the addresses, which the harness has waited for, comes after it.
        assert_eq!(gateway.count_log(nobody) == 1, expected, "{listen} {flags:?}");
    }
}

#[test]
fn the_probes_listener_has_three_pages_and_the_admin_listener_all() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("bad.wasm"), "no wasm").unwrap();
    let gateway = Plimsoll::serve(directory.path(), &["--no-compile-cache", "--probes", "127.0.0.1:0"]).unwrap();
    let line = gateway.wait_for_log("the addresses", |line| line["probes"].is_string()).unwrap();
    let probes = line["probes"].as_str().unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(probes).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse::<u16>().unwrap(), body.to_owned())
    };
    assert_eq!(get("/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get("/readyz"), (503, "not ready (reasons: 1): see /readyz of the admin listener\n".to_owned()));
    assert!(get("/metrics").1.contains("plimsoll_policies"));
    for path in ["/api/policies", "/api/leader", "/api/table?policy=bad", "/api/explain?node=n1"] {
        assert_eq!(get(path).0, 404, "{path}");
    }
    assert!(gateway.get("/readyz").unwrap().body.contains("bad"));
    assert_eq!(gateway.get("/api/policies").unwrap().status, 200);
}
