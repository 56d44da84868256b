//! Bodies and URLs that no scheduler sends: each gets a reason, and the next request is served.

use hyper::Method;
use plimsoll_contract::{check, client::Client};
use plimsoll_http::WireConfig;

use crate::world::{BY_NAME, BY_NAME_FILTERED, node_json, server};

/// The next request on the same connection is served.
async fn still_serves(client: &mut Client) {
    let reply = client.post("/filter", BY_NAME).await.unwrap();
    assert_eq!(reply.text(), BY_NAME_FILTERED);
}

/// Sends a body to every verb that reads one; returns what filter says.
async fn refused(client: &mut Client, body: &[u8]) -> String {
    let place = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    let mut errors = Vec::new();
    for (verb, status) in [("filter", 200), ("prioritize", 400), ("preempt", 400)] {
        let reply = client.post(&format!("/{verb}"), body.to_vec()).await.unwrap();
        assert_eq!(reply.status, status, "{verb} of {place}: {}", reply.text());
        errors.push(check::refusal(verb, &reply).map_err(|error| format!("{verb} of {place}: {error}")).unwrap());
    }
    errors.swap_remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_cut_anywhere_is_refused() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let objects = format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{}]}}}}"#, node_json(0, "ssd"));
    for body in [BY_NAME, &objects] {
        for length in 0..body.len() {
            refused(&mut client, &body.as_bytes()[..length]).await;
        }
    }
    still_serves(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_with_a_reason() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let table: [(&[u8], &str); 18] = [
        (b"", "is empty"),
        (b"\0", "expected value at line 1 column 1"),
        (b"null", "invalid type: null"),
        (b"5", "invalid type: integer `5`"),
        (b"\"Pod\"", "invalid type: string"),
        (b"[]", "invalid type: sequence"),
        (b"{}", "Pod is missing"),
        (b"{\"Pod\":null}", "Pod is missing"),
        (b"<html>", "expected value"),
        (b"\x16\x03\x01\x02\x00", "expected value"),
        (b"{\"Pod\":{\"metadata\":\"\xff\"}}", "invalid unicode code point"),
        (b"{\"P\xffd\":{}}", "invalid unicode code point"),
        (b"{\"Pod\":{}} {\"Pod\":{}}", "trailing characters"),
        (b"{\"Pod\":{},}", "trailing comma"),
        (b"{'Pod':{}}", "key must be a string"),
        (b"{\"Pod\":NaN}", "expected value"),
        (b"{\"Pod\":[]}", "Pod"),
        (b"\xef\xbb\xbf{\"Pod\":{}}", "expected value"),
    ];
    for (body, expected) in table {
        let error = refused(&mut client, body).await;
        assert!(error.contains(expected), "{:?} -> {error}", String::from_utf8_lossy(body));
    }
    still_serves(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_types_are_refused_by_their_field() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let table = [
        ("filter", r#"{"Pod":"p"}"#, "Pod is not a JSON object"),
        ("filter", r#"{"Pod":{"metadata":{"labels":{"a":1}}}}"#, "Pod: metadata.labels.?: invalid type: integer `1`"),
        ("filter", r#"{"Pod":{},"NodeNames":{}}"#, "NodeNames: invalid type: map, expected a list"),
        ("filter", r#"{"Pod":{},"NodeNames":["a",null]}"#, "NodeNames: invalid type: null, expected a string"),
        ("filter", r#"{"Pod":{},"NodeNames":[["a"]]}"#, "NodeNames: invalid type: sequence, expected a string"),
        ("filter", r#"{"Pod":{},"Nodes":"n"}"#, "Nodes: invalid type: string"),
        ("filter", r#"{"Pod":{},"Nodes":{"items":7}}"#, "Nodes: items: invalid type: integer"),
        ("filter", r#"{"Pod":{},"Nodes":{"items":[7]}}"#, "Node 0 of the request is not a JSON object"),
        ("filter", r#"{"Pod":{},"Nodes":{"items":[null]}}"#, "Node 0 of the request is not a JSON object"),
        ("filter", r#"{"Pod":{},"Nodes":{"items":[{}]}}"#, "Node 0 of the request: missing field `metadata`"),
        (
            "filter",
            r#"{"Pod":{},"Nodes":{"items":[{"metadata":{"name":7}}]}}"#,
            "Node 0 of the request: metadata.name: invalid type",
        ),
        (
            "preempt",
            r#"{"Pod":{},"NodeNameToVictims":[]}"#,
            "NodeNameToVictims: invalid type: sequence, expected an object with victims",
        ),
        ("preempt", r#"{"Pod":{},"NodeNameToVictims":{"n":{"Pods":{}}}}"#, "Pods: invalid type: map, expected a list"),
        ("preempt", r#"{"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":["u"]}}}"#, "invalid type: string"),
        (
            "preempt",
            r#"{"Pod":{},"NodeNameToMetaVictims":{"n":{"NumPDBViolations":"1"}}}"#,
            "NumPDBViolations: invalid type: string",
        ),
        ("preempt", r#"{"Pod":{},"NodeNameToMetaVictims":{"n":{"NumPDBViolations":1e999}}}"#, "number out of range"),
    ];
    for (verb, body, expected) in table {
        let reply = client.post(&format!("/{verb}"), body).await.unwrap();
        let error = check::refusal(verb, &reply).map_err(|error| format!("{body}: {error}")).unwrap();
        assert!(error.contains(expected), "{body} -> {error}");
    }
    still_serves(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_but_legal_requests_are_decided() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let kept = |names: &str| {
        format!(
            r#"{{"Nodes":null,"NodeNames":[{names}],"FailedNodes":{{}},"FailedAndUnresolvableNodes":{{}},"Error":""}}"#
        )
    };
    let table = [
        (r#"{"Pod":{},"Pod":{"metadata":{}},"NodeNames":["x"],"nodenames":["node-00001"]}"#, r#""node-00001""#),
        (r#" { "Pod" : { } , "NodeNames" : [ "node-00001" ] , "Extra" : [ { } ] } "#, r#""node-00001""#),
        (r#"{"Pod":{},"NodeNames":["node-0000\u0031"]}"#, r#""node-00001""#),
        (r#"{"Pod":{},"NodeNames":[]}"#, ""),
        (r#"{"Pod":{},"Nodes":null,"NodeNames":null}"#, ""),
    ];
    for (body, names) in table {
        let reply = client.post("/filter", body).await.unwrap();
        assert_eq!(reply.text(), kept(names), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_levels_cost_no_stack() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let unread = format!(
            r#"{{"Pod":{{"x":{deep},"metadata":{{"x":{deep}}}}},"X":{deep},"NodeNames":["node-00000"],
                "Nodes":{{"x":{deep},"items":[{{"x":{deep},"metadata":{{"name":"node-00000","x":{deep}}}}}]}}}}"#
        );
        let reply = client.post("/filter", unread).await.unwrap();
        assert!(reply.text().ends_with(r#""Error":""}"#), "{}", &reply.text()[..100]);
        for body in [
            deep.clone(),
            format!(r#"{{"Pod":{deep}}}"#),
            format!(r#"{{"Pod":{{"metadata":{deep}}}}}"#),
            format!(r#"{{"Pod":{{"spec":{{"containers":{deep}}}}}}}"#),
            format!(r#"{{"Pod":{{}},"NodeNames":{deep},"NodeNameToVictims":{deep}}}"#),
            format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{deep}]}},"NodeNameToMetaVictims":{{"n":{{"Pods":{deep}}}}}}}"#),
            open.repeat(100_000),
        ] {
            let reply = client.post("/filter", body).await.unwrap();
            assert!(reply.status == 200 && reply.text().starts_with(r#"{"Nodes":"#), "{}", reply.text());
        }
    }
    still_serves(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_text_is_not_sent_back() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let huge = "é".repeat(1 << 20);
    let error = refused(
        &mut client,
        format!(r#"{{"Pod":"{huge}","NodeNames":"{huge}","NodeNameToVictims":"{huge}"}}"#).as_bytes(),
    )
    .await;
    assert!(error.len() < 600 && error.ends_with('…'), "{} bytes", error.len());
    still_serves(&mut client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_and_methods_are_told_apart() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let table = [
        (Method::GET, "/filter", 405, "filter accepts only POST"),
        (Method::PUT, "/prioritize", 405, "prioritize accepts only POST"),
        (Method::DELETE, "/gpu/bind", 405, "bind accepts only POST"),
        (Method::GET, "/", 404, "plimsoll answers POST /filter"),
        (Method::POST, "/", 404, "plimsoll answers POST /filter"),
        (Method::POST, "/Filter", 404, "plimsoll answers"),
        (Method::POST, "/filters", 404, "plimsoll answers"),
        (Method::POST, "/a/b/filter", 404, "plimsoll answers"),
        (Method::POST, "/filter/filter/filter", 404, "plimsoll answers"),
        (Method::POST, "/healthz", 404, "plimsoll answers"),
        (Method::POST, "/gpu/filter", 200, "there is no group 'gpu'"),
        (Method::POST, "/gpu/prioritize", 404, "there is no group 'gpu'"),
        (Method::POST, "/filter/preempt", 404, "there is no group 'filter'"),
    ];
    for (method, path, status, expected) in table {
        let reply = client.request(method.clone(), path, BY_NAME.into()).await.unwrap();
        let error = reply.error().unwrap_or_else(|| reply.text());
        assert_eq!(reply.status, status, "{method} {path}: {error}");
        assert!(error.starts_with(expected), "{method} {path}: {error}");
        assert_eq!(reply.headers.contains_key("allow"), status == 405);
    }
    let heard = server.heard.answers();
    assert!(heard.contains(&"-/- 404 failed 0".to_owned()), "{heard:?}");
    assert!(heard.contains(&"-/filter 200 failed 0".to_owned()), "{heard:?}");
    for path in ["//filter", "/filter/", "//filter//", "/filter?x=y"] {
        assert_eq!(client.post(path, BY_NAME).await.unwrap().text(), BY_NAME_FILTERED, "{path}");
    }
}
