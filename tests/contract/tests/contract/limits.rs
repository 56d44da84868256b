//! Limits of requests: how many there may be at once, and how much they may hold.

use std::sync::Arc;

use plimsoll_contract::{
    client::Client,
    rules::{Gate, member},
};
use plimsoll_http::WireConfig;

use crate::world::{BY_NAME, BY_NAME_FILTERED, server, server_with};

#[tokio::test(flavor = "multi_thread")]
async fn requests_in_flight_are_bounded_on_all_connections_together() {
    let gate: Arc<Gate> = Arc::default();
    let config = WireConfig { max_requests: 3, ..WireConfig::default() };
    let server = server_with(vec![member("gate", gate.policy())], config).await;
    let address = server.address;
    let h2 = Client::connect_h2(address).await.unwrap();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut client = h2.another().unwrap();
        waiting.push(tokio::spawn(async move { client.post("/filter", BY_NAME).await }));
    }
    assert!(gate.reached(3).await);
    let mut fourth = server.client().await.unwrap();
    let fourth = tokio::spawn(async move { fourth.post("/prioritize", r#"{"Pod":{},"NodeNames":[]}"#).await });
    assert!(!fourth.is_finished());
    gate.open();
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().unwrap().error().unwrap(), "");
    }
    assert_eq!(fourth.await.unwrap().unwrap().text(), "[]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_no_cluster_has_is_refused() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let too_long = |path: &str| format!("{path}: more than the 100000 elements that --max-nodes allows");
    let list = |element: &str, many: usize| vec![element; many].join(",");
    let names = |many| format!(r#"{{"Pod":{{}},"NodeNames":[{}]}}"#, list(r#""a""#, many));
    assert_eq!(client.post("/filter", names(100_000)).await.unwrap().error().unwrap(), "");
    let table = [
        ("filter", 200, names(100_001), too_long("NodeNames")),
        ("prioritize", 413, names(100_001), too_long("NodeNames")),
        (
            "filter",
            200,
            format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{}]}}}}"#, list("{}", 100_001)),
            too_long("Nodes: items"),
        ),
        (
            "preempt",
            413,
            format!(r#"{{"Pod":{{}},"NodeNameToVictims":{{"n":{{"Pods":[{}]}}}}}}"#, list("1", 100_001)),
            too_long("NodeNameToVictims: n: Pods"),
        ),
        (
            "preempt",
            413,
            format!(r#"{{"Pod":{{}},"NodeNameToMetaVictims":{{{}}}}}"#, list(r#""n":{}"#, 100_001)),
            too_long("NodeNameToMetaVictims"),
        ),
        (
            "filter",
            200,
            format!(r#"{{"Pod":{{"x":"{}"}},"NodeNames":[]}}"#, "x".repeat(9 << 20)),
            "Pod has more than".to_owned(),
        ),
    ];
    for (verb, status, body, expected) in table {
        let reply = client.post(&format!("/{verb}"), body).await.unwrap();
        let error = reply.error().unwrap();
        assert_eq!(reply.status, status, "{verb}: {error}");
        assert!(error.contains(&expected), "{verb}: {error}");
    }
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_of_a_larger_cluster_gets_an_answer_where_the_flag_allows_it() {
    let server = server(WireConfig { max_nodes: 130_000, ..WireConfig::default() }).await;
    let mut client = server.client().await.unwrap();
    // The second is in a form that the fast decoder leaves to serde.
    for key in ["NodeNames", r"Node\u004eames"] {
        let names: Vec<String> = (0..130_000).map(|node| format!(r#""node-{node}""#)).collect();
        let request = |more: &str| format!(r#"{{"Pod":{{}},"{key}":[{}{more}]}}"#, names.join(","));
        let reply = client.post("/filter", request("")).await.unwrap();
        assert_eq!(reply.error().unwrap(), "", "{key}");
        assert!(reply.text().contains(r#""node-129999""#), "{key}");
        let error = client.post("/filter", request(r#","n""#)).await.unwrap().error().unwrap();
        assert!(error.contains("NodeNames: more than the 130000 elements that --max-nodes allows"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_for_what_a_body_becomes_is_reserved_before_it_is_used() {
    let names = format!(r#"{{"Pod":{{}},"NodeNames":[{}]}}"#, vec![r#""a""#; 100_000].join(","));
    // Each would do for the body alone.
    let server = server(WireConfig { memory: 4 << 20, ..WireConfig::default() }).await;
    let mut client = server.client().await.unwrap();
    for (verb, status) in [("filter", 200), ("prioritize", 503)] {
        let reply = client.post(&format!("/{verb}"), names.clone()).await.unwrap();
        let error = reply.error().unwrap();
        assert_eq!(reply.status, status, "{error}");
        assert!(error.contains("raise --wire-memory"), "{error}");
    }
    let mut client = server.client().await.unwrap();
    assert_eq!(client.post("/filter", BY_NAME).await.unwrap().text(), BY_NAME_FILTERED);
}
