//! The answer of each listener to a URL that it does not have, and to a method that a URL does not take.

use std::sync::Arc;

use hyper::Method;
use plimsoll_contract::server::Server;
use plimsoll_http::WireConfig;

use crate::{admin::Fixed, world::server};

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_url_is_404_by_any_method_and_another_method_is_405_and_says_which() {
    let wire = server(WireConfig::default()).await;
    let admin = Server::start_admin(Fixed::default()).await.unwrap();
    let probes = Server::start_probes(Arc::new(Fixed::default())).await.unwrap();
    let (reads, posts) = ("GET,HEAD", "POST");
    let table = [
        (&wire, "/filter", posts),
        (&wire, "/gpu/bind", posts),
        (&admin, "/healthz", reads),
        (&admin, "/api/policies", reads),
        (&admin, "/api/explain", posts),
        (&probes, "/healthz", reads),
        (&probes, "/readyz", reads),
        (&probes, "/metrics", reads),
    ];
    for (server, path, allowed) in table {
        let mut client = server.client().await.unwrap();
        for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let reply = client.request(method.clone(), path, "".into()).await.unwrap();
            if allowed.split(',').any(|allowed| allowed == method.as_str()) {
                assert!(![404, 405].contains(&reply.status), "{method} {path}: {reply:?}");
            } else {
                assert_eq!(reply.status, 405, "{method} {path}: {reply:?}");
                assert_eq!(reply.headers["allow"].to_str().unwrap().replace(' ', ""), allowed, "{method} {path}");
            }
            for body in ["", "x"] {
                let reply = client.request(method.clone(), "/nothing", body.into()).await.unwrap();
                assert_eq!(reply.status, 404, "{method} /nothing: {reply:?}");
                client = server.client().await.unwrap();
            }
        }
    }
}
