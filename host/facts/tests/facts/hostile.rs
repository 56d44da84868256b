//! Servers that lie, stall and never end.

use plimsoll_harness::{FakeAnswer, FakeServer};
use serde_json::json;

use crate::World;

/// The error of a source that gets this answer.
fn error_of(answer: FakeAnswer, expected: &str) {
    let server = FakeServer::start().unwrap();
    let timeout = match answer {
        FakeAnswer::Silence | FakeAnswer::Stalled(_) => ", timeout: 500ms",
        _ => "",
    };
    server.set("/api/v1/query", answer);
    let source = format!("{{url: '{}', query: q, node: instance{timeout}}}", server.url(""));
    let world = World::start(&format!("load: {{prometheus: {source}}}\n"));
    let status = world.wait_for_error("load", expected);
    assert!(status.is_absent && world.publications() == 0, "{status:?}");
}

#[test]
fn an_answer_that_does_not_come_or_does_not_end_is_given_up() {
    error_of(FakeAnswer::Silence, "no whole answer came within 500ms");
    error_of(FakeAnswer::Stalled(b"{\"status\":".to_vec()), "no whole answer came within 500ms");
    error_of(FakeAnswer::CutOff, "the server gave no valid answer");
}

#[test]
fn a_body_of_four_mebibytes_is_read_and_one_byte_more_is_not() {
    let padded = |bytes: usize| {
        let json = r#"{"a": 1}"#;
        let body = format!("{json}{}", " ".repeat(bytes - json.len())).into_bytes();
        FakeAnswer::Whole(200, vec![], body)
    };
    let server = FakeServer::start().unwrap();
    server.set("/a", padded(4 << 20));
    server.set("/b", padded((4 << 20) + 1));
    server.set("/c", padded(10 << 20));
    let source = |path: &str| format!("{{http: {{url: '{}'}}}}", server.url(path));
    let world = World::start(&format!("a: {}\nb: {}\nc: {}\n", source("/a"), source("/b"), source("/c")));
    world.wait_for("a", "a", Some("1"));
    world.wait_for_error("b", "the answer has more than 4 MiB");
    world.wait_for_error("c", "the answer has more than 4 MiB");
}

#[test]
fn another_type_or_status_is_refused_in_the_words_of_prometheus() {
    let refusal = json!({"status": "error", "errorType": "bad_data", "error": "1:5: parse error: unexpected <by>"});
    let body = refusal.to_string().into_bytes();
    error_of(
        FakeAnswer::Whole(400, vec![], body),
        "the server answered with status 400: 1:5: parse error: unexpected <by>",
    );
    error_of(FakeAnswer::status(503), "the server answered with status 503");
    error_of(FakeAnswer::Whole(200, vec![], b"<html>".to_vec()), "the answer is not that of Prometheus' query API");
    let matrix = json!({"status": "success", "data": {"resultType": "matrix", "result": []}});
    error_of(FakeAnswer::json(&matrix), "the result is of the type 'matrix'");
    let gzip = vec![("content-encoding", "gzip".to_owned())];
    error_of(FakeAnswer::Whole(200, gzip, vec![]), "the answer has the Content-Encoding 'gzip': expected none");
}

#[test]
fn samples_that_are_not_finite_are_left_out_and_counted() {
    let server = FakeServer::start().unwrap();
    let samples = [("n1:9100", "0.5"), ("n2:9100", "NaN"), ("n3:9100", "+Inf"), ("n4:9100", "lots")];
    server.set("/api/v1/query", FakeAnswer::samples(&samples));
    let source = format!("{{url: '{}', query: q, node: instance}}", server.url(""));
    let world = World::start(&format!("load: {{prometheus: {source}}}\n"));
    world.wait_for("load", "n1", Some("0.5"));
    let status = world.status("load");
    assert_eq!((status.values, status.left_out), (1, 3), "{status:?}");
}

#[test]
fn three_redirects_are_followed_and_a_loop_is_not() {
    let server = FakeServer::start().unwrap();
    for (from, to) in [("/0", "/1"), ("/1", "2"), ("/2", &server.url("/3")), ("/loop", "/loop")] {
        server.set(from, FakeAnswer::redirect(to));
    }
    server.set("/3", FakeAnswer::json(&json!({"a": 1})));
    server.set("/out", FakeAnswer::redirect("file:///etc/passwd"));
    let source = |path: &str| format!("{{http: {{url: '{}', every: 60s}}}}", server.url(path));
    let world = World::start(&format!("good: {}\nloop: {}\nout: {}\n", source("/0"), source("/loop"), source("/out")));
    world.wait_for("good", "a", Some("1"));
    world.wait_for_error("loop", "more than 3 redirects: expected an answer by then");
    world
        .wait_for_error("out", "a redirect leads to no URL that may be followed: its scheme is neither http nor https");
}

#[test]
fn an_answer_in_chunks_of_a_byte_is_given_up() {
    let server = FakeServer::start().unwrap();
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    // 600 kB on the wire and 100 kB without framing, which no other limit refuses.
    server.set("/", FakeAnswer::Raw([head, b"1\r\n \r\n".repeat(100_000)].concat()));
    let world = World::start(&format!("a: {{http: {{url: '{}'}}}}\n", server.url("/")));
    world.wait_for_error("a", "the answer comes in more than 65536 pieces: expected at most that many");
}

#[test]
fn framing_without_an_end_is_given_up_and_a_long_error_is_cut() {
    let server = FakeServer::start().unwrap();
    let zeros = [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(), vec![b'0'; 16 << 20]].concat();
    server.set("/framing", FakeAnswer::Raw(zeros));
    server.set("/text", FakeAnswer::json(&json!("x".repeat(3 << 20))));
    let source = |path: &str| format!("{{http: {{url: '{}'}}}}", server.url(path));
    let world = World::start(&format!("a: {}\nb: {}\n", source("/framing"), source("/text")));
    world.wait_for_error("a", "more than 8 MiB with headers, framing and TLS");
    let error = world.wait_for_error("b", "invalid type: string").error.unwrap();
    assert!(error.len() < 1_000, "{} bytes", error.len());
}

#[test]
fn csv_that_ends_with_its_connection_takes_nothing_away() {
    let server = FakeServer::start().unwrap();
    let csv = |head: &str, body: &str| FakeAnswer::Raw(format!("{head}content-type: text/csv\r\n\r\n{body}").into());
    server.set(
        "/",
        csv("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n", "17\r\nnode-1,0.95\nnode-2,0.85\r\n0\r\n\r\n"),
    );
    let world = World::start(&format!("load: {{http: {{url: '{}', every: 1s}}}}\n", server.url("/")));
    world.wait_for("load", "node-2", Some("0.85"));
    for head in ["HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n"] {
        server.set("/", csv(head, "node-1,0.95\nnode-2,0."));
        world.wait_for_fetches("load", 2);
        world
            .wait_for_error("load", "the answer has neither a Content-Length nor chunks: expected one of them for CSV");
        assert_eq!(world.value("load", "node-2").as_deref(), Some("0.85"), "{head}");
    }
}
