//! The token of a request: read each time, and sent to one server only.

use plimsoll_harness::{FakeAnswer, FakeServer};
use serde_json::json;

use crate::World;

/// The tokens that a server got for a path, in the order of their arrival.
fn tokens(server: &FakeServer, path: &str) -> Vec<Option<String>> {
    let requests = server.requests().into_iter().filter(|request| request.path() == path);
    requests.map(|request| request.header("authorization").map(str::to_owned)).collect()
}

#[test]
fn a_renewed_token_is_sent_with_the_next_request() {
    let server = FakeServer::start().unwrap();
    server.set("/", FakeAnswer::json(&json!({"a": 1})));
    let source = format!("{{url: '{}', every: 1s, bearerTokenFile: token}}", server.url("/"));
    let world = World::start_with(&format!("a: {{http: {source}}}\n"), &[("token", "first\n")]);
    world.wait_for("a", "a", Some("1"));
    world.put("token", "second\n");
    world.wait_for_fetches("a", 2);
    let tokens = tokens(&server, "/");
    assert_eq!(tokens.first().cloned().flatten().as_deref(), Some("Bearer first"));
    assert_eq!(tokens.last().cloned().flatten().as_deref(), Some("Bearer second"));
    world.put("token", "two\nlines\n");
    let status = world.wait_for_error("a", "has no token: expected one line of printable ASCII");
    assert!(!status.error.unwrap().contains("lines"), "no text of the file is quoted");
}

/// A tenant's header (Mimir), and a user with a password.
#[test]
fn headers_and_a_user_with_a_password_are_sent() {
    let server = FakeServer::start().unwrap();
    server.set("/api/v1/query", FakeAnswer::samples(&[("n1:9100", "0.5")]));
    let rest =
        "node: instance, every: 1s, headers: {X-Scope-OrgID: team-a}, basicAuth: {username: me, passwordFile: pw}";
    let source = format!("{{url: '{}', query: q, {rest}}}", server.url(""));
    let world = World::start_with(&format!("a: {{prometheus: {source}}}\n"), &[("pw", "open sesame\n")]);
    world.wait_for("a", "n1", Some("0.5"));
    let request = &server.requests()[0];
    assert_eq!(request.header("x-scope-orgid"), Some("team-a"));
    assert_eq!(request.header("authorization"), Some("Basic bWU6b3BlbiBzZXNhbWU="));
    world.put("pw", "\n");
    world.wait_for_error("a", "pw has no password: expected one line");
}

#[test]
fn no_status_has_the_query_of_a_url() {
    let server = FakeServer::start().unwrap();
    server.set("/", FakeAnswer::status(403));
    let world = World::start(&format!("a: {{http: {{url: '{}'}}}}\n", server.url("/?apikey=hunter2")));
    let status = world.wait_for_error("a", "the server answered with status 403");
    assert_eq!(status.place, server.url("/"));
    assert!(!format!("{status:?}").contains("hunter2"), "{status:?}");
}
