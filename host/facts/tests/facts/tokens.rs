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

#[test]
fn a_redirect_to_another_server_is_not_followed_and_the_token_stays() {
    let (first, second) = (FakeServer::start().unwrap(), FakeServer::start().unwrap());
    first.set("/", FakeAnswer::redirect("/same"));
    first.set("/same", FakeAnswer::redirect(&second.url("/other")));
    let source = format!("{{url: '{}', bearerTokenFile: token}}", first.url("/"));
    let world = World::start_with(&format!("a: {{http: {source}}}\n"), &[("token", "secret")]);
    world.wait_for_error("a", "a redirect leads to no URL that may be followed: it leads to another server");
    for path in ["/", "/same"] {
        assert_eq!(tokens(&first, path).first(), Some(&Some("Bearer secret".to_owned())), "{path}");
    }
    assert!(second.requests().is_empty());
}

#[test]
fn a_token_that_a_server_repeats_is_in_no_error() {
    let server = FakeServer::start().unwrap();
    let repeat = json!({"status": "error", "error": "no tenant for q8Zr4TnW1xKd"}).to_string().into_bytes();
    server.set("/api/v1/query", FakeAnswer::Whole(403, vec![], repeat));
    server.set("/json", FakeAnswer::json(&json!("authorization: Bearer q8Zr4TnW1xKd")));
    let source = |rest: &str| format!("{{url: '{}', bearerTokenFile: token{rest}}}", server.url(""));
    let world = World::start_with(
        &format!(
            "a: {{prometheus: {}}}\nb: {{http: {{url: '{}', bearerTokenFile: token}}}}\n",
            source(", query: q"),
            server.url("/json")
        ),
        &[("token", "q8Zr4TnW1xKd")],
    );
    for (name, expected) in [("a", "no tenant for"), ("b", "invalid type: string")] {
        let error = world.wait_for_error(name, expected).error.unwrap();
        assert!(!error.contains("q8Zr4TnW1xKd"), "{error}");
    }
}

#[test]
fn no_status_has_the_query_of_a_url() {
    let server = FakeServer::start().unwrap();
    server.set("/", FakeAnswer::redirect("/x?apikey=hunter2"));
    server.set("/x", FakeAnswer::status(403));
    let world = World::start(&format!("a: {{http: {{url: '{}'}}}}\n", server.url("/?apikey=hunter2")));
    let status = world.wait_for_error("a", "the server answered with status 403");
    assert_eq!(status.place, server.url("/"));
    assert!(!format!("{status:?}").contains("hunter2"), "{status:?}");
}
