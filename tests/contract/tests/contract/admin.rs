//! The admin pages.

use bytes::Bytes;
use hyper::Method;
use plimsoll_contract::{client::exchange, server::Server};
use plimsoll_http::Admin;
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Fixed {
    missing: Vec<String>,
    notes: Vec<String>,
}

#[expect(refining_impl_trait, reason = "any JSON will do")]
impl Admin for Fixed {
    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        if self.missing.is_empty() { Ok(self.notes.clone()) } else { Err(self.missing.clone()) }
    }

    fn metrics(&self) -> String {
        if self.missing.is_empty() { "# EOF\n".into() } else { panic!("no metrics") }
    }

    fn table(&self, policy: &str) -> Option<Value> {
        (policy == "gpu/binpack").then(|| json!({"policy": policy}))
    }

    fn explain(&self, group: &str, node: &str, pod: Bytes) -> Result<Value, String> {
        if node == "n1" { Ok(json!({"of": [group, node], "bytes": pod.len()})) } else { Err("no such node".into()) }
    }

    fn policies(&self) -> Value {
        json!({"policies": []})
    }

    fn leader(&self) -> Value {
        json!({"state": "off"})
    }

    fn pending(&self) -> Value {
        json!({"pods": []})
    }

    fn pending_pod(&self, namespace: &str, name: &str) -> Result<Value, String> {
        if name == "p" { Ok(json!({"pod": [namespace, name]})) } else { Err("it does not wait".into()) }
    }

    fn facts(&self) -> Value {
        json!({"sources": []})
    }

    fn fact_values(&self, sources: &[&str]) -> Result<Value, String> {
        if sources.contains(&"none") { Err("no such source".into()) } else { Ok(json!(sources)) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_page_has_its_status_type_and_text() {
    let server = Server::start_admin(Fixed::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    let metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let table = [
        ("/healthz", 200, "text/plain; charset=utf-8", "ok\n"),
        ("/readyz", 200, "text/plain; charset=utf-8", "ok\n"),
        ("/metrics", 200, metrics, "# EOF\n"),
        ("/api/policies", 200, "application/json", "{\n  \"policies\": []\n}\n"),
        ("/api/leader", 200, "application/json", "{\n  \"state\": \"off\"\n}\n"),
        ("/api/pending", 200, "application/json", "{\n  \"pods\": []\n}\n"),
        ("/api/pending/team-a/p", 200, "application/json", "{\n  \"pod\": [\n    \"team-a\",\n    \"p\"\n  ]\n}\n"),
        ("/api/pending/team-a/q", 404, "text/plain; charset=utf-8", "it does not wait\n"),
        ("/api/facts", 200, "application/json", "{\n  \"sources\": []\n}\n"),
        ("/api/facts?values=load", 200, "application/json", "[\n  \"load\"\n]\n"),
        ("/api/facts?values=a,b%2Cc", 200, "application/json", "[\n  \"a\",\n  \"b\",\n  \"c\"\n]\n"),
        ("/api/facts?values=load,none", 422, "text/plain; charset=utf-8", "no such source\n"),
        ("/api/table?policy=gpu/binpack", 200, "application/json", "{\n  \"policy\": \"gpu/binpack\"\n}\n"),
        ("/api/table?policy=gpu%2fbin%70ack", 200, "application/json", "{\n  \"policy\": \"gpu/binpack\"\n}\n"),
        (
            "/api/table?policy=other",
            404,
            "text/plain; charset=utf-8",
            "there is no such policy: /api/policies lists them\n",
        ),
        (
            "/filter",
            404,
            "text/plain; charset=utf-8",
            "plimsoll's admin side has /healthz, /readyz, /metrics, /api/policies, /api/leader, /api/pending, /api/facts, /api/table and /api/explain\n",
        ),
    ];
    for (path, status, kind, text) in table {
        let reply = client.get(path).await.unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (status, text), "{path}");
        assert_eq!(reply.headers["content-type"], kind, "{path}");
    }
    let reply = client.request(Method::DELETE, "/api/policies", "".into()).await.unwrap();
    assert_eq!(
        (reply.status, reply.text().as_str()),
        (405, "plimsoll's admin side is read-only: use GET; for /api/explain, POST the pod's JSON\n")
    );
    server.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_posted_pod_is_explained_within_bounds() {
    let server = Server::start_admin(Fixed::default()).await.unwrap();
    let explained = "{\n  \"bytes\": 2,\n  \"of\": [\n    \"gpu\",\n    \"n1\"\n  ]\n}\n";
    let table = [
        ("/api/explain?group=gpu&node=n1", 2, 200, explained),
        ("/api/explain?node=n2", 2, 422, "no such node\n"),
        ("/api/explain?node=n1", 3 << 20, 413, "Failed to buffer the request body: length limit exceeded"),
    ];
    for (path, bytes, status, text) in table {
        let mut client = server.client().await.unwrap();
        let reply = client.request(Method::POST, path, vec![b' '; bytes].into()).await.unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (status, text), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_with_an_unknown_missing_or_repeated_parameter_is_refused_by_name() {
    let server = Server::start_admin(Fixed::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    let table = [
        (Method::GET, "/api/policies?group=gpu", "group: unknown field `group`, there are no fields"),
        (Method::GET, "/api/leader?x", "x: unknown field `x`, there are no fields"),
        (Method::GET, "/api/pending?pod=p", "pod: unknown field `pod`, there are no fields"),
        (Method::GET, "/api/facts?value=load", "value: unknown field `value`, expected `values`"),
        (Method::GET, "/api/table", "missing field `policy`"),
        (Method::GET, "/api/table?policy=a&policy=b", "duplicate field `policy`"),
        (Method::POST, "/api/explain", "missing field `node`"),
        (Method::POST, "/api/explain?nod%65=n1&pod=p", "pod: unknown field `pod`, expected `group` or `node`"),
    ];
    for (method, query, error) in table {
        let reply = client.request(method, query, "".into()).await.unwrap();
        let (path, _) = query.split_once('?').unwrap_or((query, ""));
        assert_eq!((reply.status, reply.text()), (400, format!("the query of {path}: {error}\n")), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_said_line_by_line_and_a_panic_is_a_page() {
    let missing = ["policy a: bad", "policy b: worse"].map(str::to_owned).to_vec();
    let server = Server::start_admin(Fixed { missing, ..Fixed::default() }).await.unwrap();
    let mut client = server.client().await.unwrap();
    let reply = client.get("/readyz").await.unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (503, "policy a: bad\npolicy b: worse\n"));
    assert_eq!(client.get("/metrics").await.unwrap().status, 500);
    assert_eq!(client.get("/healthz").await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_and_keeps_nobody_from_being_answered_is_a_note() {
    let notes = vec!["policy a binds, but nobody may ask".to_owned()];
    let server = Server::start_admin(Fixed { notes, ..Fixed::default() }).await.unwrap();
    let reply = server.client().await.unwrap().get("/readyz").await.unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (200, "ok\nnote: policy a binds, but nobody may ask\n"));
}

/// A browser on the operator's machine reaches loopback, and must not ask on behalf of a page of somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn no_page_is_shown_under_a_foreign_name_or_to_a_foreign_page() {
    let server = Server::start_admin(Fixed::default()).await.unwrap();
    let table = [
        ("Host: evil.example:8889", 403),
        ("Host: localhost.evil.example", 403),
        ("Host: 127.0.0.1@evil.example", 403),
        ("Host: localhost:8889\r\nOrigin: http://evil.example:8889", 403),
        ("Host: localhost:8889\r\nOrigin: http://localhost:3000", 403),
        ("Host: localhost:8889\r\nOrigin: http://localhost:8889", 200),
        // As `kubectl port-forward` and curl have it.
        ("Host: localhost:8889", 200),
        ("Host: 127.0.0.1:8889", 200),
        ("Host: [::1]:8889", 200),
    ];
    for page in ["GET /api/policies", "GET /readyz", "POST /api/explain?group=gpu&node=n1"] {
        for (headers, status) in table {
            let head = format!("{page} HTTP/1.1\r\n{headers}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            let reply = exchange(server.address, head.as_bytes()).await.unwrap();
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{page} {headers}: {reply}");
        }
    }
}
