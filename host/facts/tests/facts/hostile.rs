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
    error_of(FakeAnswer::json(&matrix), "unknown variant `matrix`");
}

#[test]
fn samples_that_are_not_finite_are_left_out() {
    let server = FakeServer::start().unwrap();
    let samples = [("n1:9100", "0.5"), ("n2:9100", "NaN"), ("n3:9100", "+Inf"), ("n4:9100", "lots")];
    server.set("/api/v1/query", FakeAnswer::samples(&samples));
    let source = format!("{{url: '{}', query: q, node: instance}}", server.url(""));
    let world = World::start(&format!("load: {{prometheus: {source}}}\n"));
    world.wait_for("load", "n1", Some("0.5"));
    assert_eq!(world.status("load").values, 1);
}

#[test]
fn a_redirect_is_not_followed() {
    error_of(FakeAnswer::redirect("/elsewhere"), "the server answered with status 30");
}
