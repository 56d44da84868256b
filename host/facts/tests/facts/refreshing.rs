//! Values come, change, stay and get too old.

use plimsoll_harness::{FakeAnswer, FakeServer};
use serde_json::json;

use crate::World;

#[test]
fn a_change_is_published_and_the_same_values_are_not() {
    let server = FakeServer::start().unwrap();
    server.set("/api/v1/query", FakeAnswer::samples(&[("10.0.0.1:9100", "0.12"), ("n2:9100", "0.5")]));
    let source = format!("{{url: '{}', query: load, node: instance, every: 1s}}", server.url(""));
    let world = World::start(&format!("load: {{prometheus: {source}, round: 0.05}}\n"));
    world.wait_for("load", "10.0.0.1", Some("0.1"));
    assert_eq!(world.value("load", "n2").as_deref(), Some("0.5"));
    // Another number, and the same multiple of 0.05.
    server.set("/api/v1/query", FakeAnswer::samples(&[("10.0.0.1:9100", "0.09"), ("n2:9100", "0.5")]));
    world.wait_for_fetches("load", 2);
    assert_eq!(world.publications(), 1);
    server.set("/api/v1/query", FakeAnswer::samples(&[("10.0.0.1:9100", "0.9")]));
    world.wait_for("load", "10.0.0.1", Some("0.9"));
    assert_eq!(world.value("load", "n2"), None, "a node without a sample has no fact");
    let request = &server.requests()[0];
    assert_eq!((request.method.as_str(), request.parameter("query")), ("GET", Some("load")));
}

#[test]
fn the_last_values_stay_until_max_age_and_come_back_afterwards() {
    let server = FakeServer::start().unwrap();
    server.set("/zones.json", FakeAnswer::json(&json!({"a": 120, "b": "low"})));
    let source = format!("{{url: '{}', every: 1s}}", server.url("/zones.json"));
    let world = World::start(&format!("carbon: {{http: {source}, maxAge: 6s}}\n"));
    world.wait_for("carbon", "a", Some("120"));
    server.set("/zones.json", FakeAnswer::status(500));
    let status = world.wait_for_error("carbon", "the server answered with status 500");
    assert!(!status.is_absent && status.values == 2, "{status:?}");
    world.wait_for("carbon", "a", None);
    let status = world.status("carbon");
    assert!(status.is_absent && status.age.is_some_and(|age| age >= status.max_age), "{status:?}");
    server.set("/zones.json", FakeAnswer::json(&json!({"a": 120})));
    world.wait_for("carbon", "a", Some("120"));
    assert_eq!(world.status("carbon").error, None);
}

#[test]
fn sources_that_do_not_answer_hold_up_no_other() {
    let server = FakeServer::start().unwrap();
    server.set("/silent", FakeAnswer::Silence);
    server.set("/good", FakeAnswer::json(&json!({"a": 1})));
    let (silent, good) = (server.url("/silent"), server.url("/good"));
    let silent = (0..63).map(|at| format!("a{at}: {{http: {{url: '{silent}', timeout: 60s}}}}\n"));
    let world = World::start(&format!("{}b: {{http: {{url: '{good}'}}}}\n", silent.collect::<String>()));
    world.wait_for("b", "a", Some("1"));
    assert!(world.status("a0").is_absent);
}

#[test]
fn a_file_is_followed_and_a_bad_one_keeps_the_last_values() {
    let files = [("racks.csv", "n1,r1\n"), ("budgets.json", r#"{"team-a": 100}"#)];
    let world = World::start_with(
        "racks: {file: {path: racks.csv, every: 1s}}\nbudgets: {file: {path: budgets.json, every: 1s}}\n",
        &files,
    );
    world.wait_for("racks", "n1", Some("r1"));
    world.wait_for("budgets", "team-a", Some("100"));
    world.put("racks.csv", "n1,r2\n");
    world.wait_for("racks", "n1", Some("r2"));
    world.put("racks.csv", "n1,r3\nn2\n");
    world.wait_for_error("racks", "line 2: found 'n2': expected a key, a comma and a value");
    assert_eq!(world.value("racks", "n1").as_deref(), Some("r2"));
}

#[test]
fn csv_of_a_server_is_known_by_its_type() {
    let server = FakeServer::start().unwrap();
    let headers = vec![("content-type", "text/csv; charset=utf-8".to_owned())];
    server.set("/prices", FakeAnswer::Whole(200, headers, b"# EUR\na,0.25\n".to_vec()));
    let world = World::start(&format!("prices: {{http: {{url: '{}'}}}}\n", server.url("/prices")));
    world.wait_for("prices", "a", Some("0.25"));
}
