//! The probes listener: three pages, for strangers.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use plimsoll_contract::server::Server;
use plimsoll_http::Admin;
use serde_json::Value;

/// A text that must not be told to strangers.
const SECRET: &str = "policy a: settings refused: found hunter2";

#[derive(Default)]
struct State {
    missing: Vec<String>,
}

#[expect(refining_impl_trait, reason = "any JSON will do")]
impl Admin for State {
    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        if self.missing.is_empty() { Ok(vec![SECRET.to_owned()]) } else { Err(self.missing.clone()) }
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }

    fn table(&self, _: &str) -> Option<Value> {
        unreachable!("strangers see no tables")
    }

    fn explain(&self, _: &str, _: &str, _: Bytes) -> Result<Value, String> {
        unreachable!("strangers ask no policies")
    }

    fn policies(&self) -> Value {
        unreachable!("strangers see no policies")
    }

    fn leader(&self) -> Value {
        unreachable!("strangers see no leader")
    }

    fn pending(&self) -> Value {
        unreachable!("strangers see no pods")
    }

    fn pending_pod(&self, _: &str, _: &str) -> Result<Value, String> {
        unreachable!("strangers see no pods")
    }

    fn facts(&self) -> Value {
        unreachable!("strangers see no facts")
    }

    fn fact_values(&self, _: &[&str]) -> Result<Value, String> {
        unreachable!("strangers see no facts")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_pages_are_there_and_nothing_else() {
    let server = Server::start_probes(Arc::new(State::default())).await.unwrap();
    let mut client = server.client().await.unwrap();
    let nothing = "plimsoll's probes are /healthz, /readyz and /metrics; the rest is on the admin listener\n";
    let table = [
        ("/healthz", 200, "ok\n"),
        ("/readyz", 200, "ok\n"),
        ("/metrics", 200, "# EOF\n"),
        ("/api/policies", 404, nothing),
        ("/api/leader", 404, nothing),
        ("/api/table?policy=a", 404, nothing),
        ("/api/explain?node=n1", 404, nothing),
        ("/", 404, nothing),
        ("/metrics/", 404, nothing),
        ("/filter", 404, nothing),
    ];
    for (path, status, text) in table {
        let reply = client.get(path).await.unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (status, text), "{path}");
    }
    let reply = client.request(Method::POST, "/metrics", Bytes::new()).await.unwrap();
    assert_eq!(reply.status, 405);
    assert_eq!(reply.headers["allow"], "GET,HEAD");
    server.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn why_it_is_not_ready_is_told_on_the_admin_listener_alone() {
    let state = State { missing: vec![SECRET.to_owned()] };
    let server = Server::start_probes(Arc::new(state)).await.unwrap();
    let reply = server.client().await.unwrap().get("/readyz").await.unwrap();
    assert_eq!(reply.status, 503);
    assert_eq!(reply.text(), "not ready (reasons: 1): see /readyz of the admin listener\n");
}
