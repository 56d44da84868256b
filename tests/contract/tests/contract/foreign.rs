//! A browser on the operator's machine reaches loopback, and must not ask on behalf of a page of somebody else.

use std::{net::SocketAddr, sync::Arc};

use plimsoll_contract::{
    client::{Client, exchange},
    secure::{Site, load},
    server::Server,
};
use plimsoll_http::{AllowedHosts, BindAccess, NoPeers, TlsFiles, WireConfig};

use crate::{
    access::{BOUND, REQUEST, binding_gateway, one_pod, open},
    admin::Fixed,
    world::{BY_NAME, server},
};

const HOST: &str =
    "the request's Host is not allowed: use localhost or an IP address, or add the name to --allowed-hosts";
const ORIGIN: &str = "the request comes from a web page: plimsoll answers programs only";

/// The whole reply to one request with these headers.
async fn ask(address: SocketAddr, request: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let head = format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    exchange(address, (head + body).as_bytes()).await.unwrap()
}

fn devbox() -> AllowedHosts {
    AllowedHosts::new(["devbox.example".to_owned()])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_port_binds_under_no_foreign_name_and_for_no_page() {
    let api = one_pod();
    let config = WireConfig { hosts: devbox(), ..WireConfig::default() };
    let server = Server::start(binding_gateway(&api), config).await.unwrap();
    let table = [
        ("Host: evil.example:8888\r\n", HOST),
        ("Host: devbox.example.evil.example\r\n", HOST),
        ("Host: localhost\r\nHost: evil.example\r\n", HOST),
        ("Host: localhost:8888\r\nOrigin: http://evil.example\r\n", ORIGIN),
        ("Host: localhost:8888\r\nOrigin: http://localhost:8888\r\n", ORIGIN),
        ("Host: localhost:8888\r\nOrigin: null\r\n", ORIGIN),
    ];
    for (headers, expected) in table {
        for (call, body) in [("/bind", REQUEST), ("/gpu/bind", REQUEST), ("/filter", BY_NAME)] {
            let reply = ask(server.address, &format!("POST {call}"), headers, body).await;
            // As for any bind or filter that is refused: kube-scheduler reads no other status.
            assert!(reply.starts_with("HTTP/1.1 200 ") && reply.contains(expected), "{headers}: {reply}");
        }
        let reply = ask(server.address, "POST /prioritize", headers, BY_NAME).await;
        assert!(reply.starts_with("HTTP/1.1 403 ") && reply.contains(expected), "{headers}: {reply}");
    }
    let absolute = ask(server.address, "POST http://evil.example/bind", "Host: localhost\r\n", REQUEST).await;
    assert!(absolute.contains(HOST), "{absolute}");
    let mut h2 = Client::connect_h2(server.address).await.unwrap().with_header("host", "evil.example");
    assert_eq!(h2.post("/bind", REQUEST).await.unwrap().error().as_deref(), Some(HOST));
    assert!(api.bindings().is_empty());
    for host in ["127.0.0.1:8888", "[::1]:8888", "localhost", "DEVBOX.example:8888"] {
        let reply = ask(server.address, "POST /bind", &format!("Host: {host}\r\n"), REQUEST).await;
        assert!(reply.ends_with(BOUND), "{host}: {reply}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_port_has_any_name_and_answers_no_page_either() {
    let (api, mut config) = (one_pod(), WireConfig::default());
    config.bind = BindAccess { without_authentication: true, ..BindAccess::default() };
    let server = open(&api, Arc::new(NoPeers), config).await;
    // A page needs no leave to post to an address inside of the network.
    let page = "Host: plimsoll.plimsoll.svc:8888\r\nOrigin: http://plimsoll.plimsoll.svc:8888\r\n";
    let reply = ask(server.address, "POST /bind", page, REQUEST).await;
    assert!(reply.contains(ORIGIN) && api.bindings().is_empty(), "{reply}");
    let reply = ask(server.address, "POST /bind", "Host: plimsoll.plimsoll.svc:8888\r\n", REQUEST).await;
    assert!(reply.ends_with(BOUND), "{reply}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_tls_the_certificate_says_whom_a_client_takes_this_for() {
    let site = Site::new().unwrap();
    let (tls, _) = load(TlsFiles { client_ca: None, ..site.files() }).unwrap();
    let server = server(WireConfig { tls: Some(tls), ..WireConfig::default() }).await;
    let client = Client::connect_tls(server.address, site.client().unwrap()).await.unwrap();
    let reply = client.with_header("host", "plimsoll.example").post("/filter", BY_NAME).await.unwrap();
    assert_eq!(reply.error().as_deref(), Some(""));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_admin_page_is_shown_under_a_foreign_name_or_to_a_foreign_page() {
    let server = Server::start_admin_under(devbox(), Fixed::default()).await.unwrap();
    let pages =
        ["GET /api/policies", "GET /api/leader", "GET /api/table?policy=gpu/binpack", "GET /readyz", "GET /metrics"];
    for page in pages.into_iter().chain(["POST /api/explain?node=n1"]) {
        let table = [
            ("Host: evil.example:8889\r\n", 403, HOST),
            ("Host: localhost:8889\r\nOrigin: http://evil.example:8889\r\n", 403, ORIGIN),
            ("Host: localhost:8889\r\nOrigin: http://localhost:3000\r\n", 403, ORIGIN),
            ("Host: localhost:8889\r\nOrigin: http://localhost:8889\r\n", 200, ""),
            // As `kubectl port-forward` and curl have it.
            ("Host: localhost:8889\r\n", 200, ""),
            ("Host: 127.0.0.1:8889\r\n", 200, ""),
            ("Host: devbox.example:8889\r\n", 200, ""),
        ];
        for (headers, status, text) in table {
            let reply = ask(server.address, page, headers, "").await;
            assert!(
                reply.starts_with(&format!("HTTP/1.1 {status} ")) && reply.contains(text),
                "{page} {headers}: {reply}"
            );
        }
    }
    // Open to the network it is still this machine's where it is asked over loopback.
    let open = Server::start_admin_in_the_open(AllowedHosts::default(), Fixed::default()).await.unwrap();
    assert!(ask(open.address, "GET /api/policies", "Host: evil.example\r\n", "").await.contains(HOST));
}
