//! The probes listener: three pages, for strangers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use hyper::Method;
use plimsoll_contract::{
    client::{Client, exchange},
    server::Server,
};
use plimsoll_http::Admin;
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpStream};

/// A text that must not be told to strangers.
const SECRET: &str = "policy a: settings refused: found hunter2";

#[derive(Default)]
struct Counting {
    missing: Vec<String>,
    /// The number of times a page was made.
    made: AtomicUsize,
    takes: Duration,
}

impl Admin for Counting {
    fn ready(&self) -> Result<Vec<String>, Vec<String>> {
        self.made.fetch_add(1, Ordering::SeqCst);
        if self.missing.is_empty() { Ok(vec![SECRET.to_owned()]) } else { Err(self.missing.clone()) }
    }

    fn metrics(&self) -> String {
        self.made.fetch_add(1, Ordering::SeqCst);
        #[expect(clippy::disallowed_methods, reason = "a page that takes long to make")]
        std::thread::sleep(self.takes);
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

    fn facts(&self) -> Value {
        unreachable!("strangers see no facts")
    }

    fn fact_values(&self, _: &[&str]) -> Result<Value, String> {
        unreachable!("strangers see no facts")
    }
}

async fn probes(counting: Counting) -> (Server, Arc<Counting>) {
    let counting = Arc::new(counting);
    (Server::start_probes(Arc::clone(&counting) as _).await.unwrap(), counting)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_pages_are_there_and_nothing_else() {
    let (server, _) = probes(Counting::default()).await;
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
    assert_eq!((reply.status, reply.text().as_str()), (405, "plimsoll's probes take GET alone\n"));
    assert_eq!(reply.headers["allow"], "GET,HEAD");
    server.stopped().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn why_it_is_not_ready_is_told_on_the_admin_listener_alone() {
    let (server, _) = probes(Counting { missing: vec![SECRET.to_owned()], ..Counting::default() }).await;
    let reply = server.client().await.unwrap().get("/readyz").await.unwrap();
    assert_eq!(reply.status, 503);
    assert_eq!(reply.text(), "not ready (reasons: 1): see /readyz of the admin listener\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_refused_unread_and_h2_is_not_spoken() {
    let (server, counting) = probes(Counting::default()).await;
    let body = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    let reply = exchange(server.address, body.as_bytes()).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 413 ") && reply.ends_with("plimsoll's probes take no body\n"), "{reply}");
    let chunked = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    assert!(exchange(server.address, chunked.as_bytes()).await.unwrap().starts_with("HTTP/1.1 413 "));
    let reply = exchange(server.address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    assert!(!reply.contains("200 OK"), "{reply}");
    assert_eq!(counting.made.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "the bound is a number of pages in a time")]
async fn a_flood_makes_each_page_a_few_times_and_a_probe_gets_through() {
    let (server, counting) = probes(Counting { takes: Duration::from_millis(50), ..Counting::default() }).await;
    let started = Instant::now();
    // Twice as many as there may be: idle ones, halves of heads, and clients that leave before the page is made.
    let mut idle = vec![];
    for at in 0..128 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head: &[u8] = if at % 2 == 0 { b"" } else { b"GET /metrics HT" };
        stream.write_all(head).await.unwrap();
        idle.push(stream);
    }
    for _ in 0..200 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    }
    for _ in 0..20 {
        let mut client = Client::connect(server.address).await.unwrap();
        assert_eq!(client.get("/healthz").await.unwrap().status, 200);
        assert_eq!(client.get("/metrics").await.unwrap().status, 200);
    }
    // At most four in a second, and the two that may be under way at both ends.
    let most = started.elapsed().as_millis() / 250 + 2;
    let made = counting.made.load(Ordering::SeqCst);
    assert!(made as u128 <= most, "{made} pages in {:?}", started.elapsed());
}
