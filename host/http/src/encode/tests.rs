use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{Cluster, Names, Node, Reason, RejectedBy, Slot, SurvivingCandidate, Victims};

use super::*;

/// A node that kube-scheduler has nominated the pod for is full, and another is never right.
fn outcome() -> FilterOutcome {
    let rejected = vec![
        Rejection { node: 1, reason: 0, unresolvable: false },
        Rejection { node: 2, reason: 1, unresolvable: true },
    ];
    let reasons = vec![reason("p: \"full\"\n"), reason("p: never")];
    FilterOutcome { rejected, reasons, nominated: Some(1), ..FilterOutcome::default() }
}

fn reason(text: &str) -> Reason {
    Reason { by: RejectedBy::Policies, text: text.into() }
}

fn filter(nodes: &WireNodes, outcome: &FilterOutcome) -> Vec<u8> {
    super::filter(nodes, &NameIndex::default(), outcome)
}

#[test]
fn only_a_node_that_kube_scheduler_itself_rejects_or_has_nominated_is_resolvable() {
    let node = |name| Node::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
    let slot = |name| Slot { node: Arc::new(node(name)), placed: None };
    let cluster = Cluster::new(["a", "b", "c", "d", "e"].map(slot).to_vec());
    let at = |node, reason, unresolvable| Rejection { node, reason, unresolvable };
    let outcome = FilterOutcome {
        rejected: vec![at(0, 0, false), at(1, 0, false), at(2, 0, true)],
        others: vec![at(3, 1, false), at(4, 0, true)],
        nominated: Some(1),
        reasons: vec![reason("p: full"), reason("Insufficient cpu")],
        ..FilterOutcome::default()
    };
    let reply = super::filter(&names(&["a", "b", "c"]), &NameIndex::new(&cluster, None), &outcome);
    assert_eq!(
        text(reply),
        r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{"b":"p: full","d":"Insufficient cpu"},"FailedAndUnresolvableNodes":{"a":"p: full","c":"p: full","e":"p: full"},"Error":""}"#
    );
}

fn text(reply: Vec<u8>) -> String {
    String::from_utf8(reply).unwrap()
}

fn names(names: &[&'static str]) -> WireNodes {
    let names: Vec<_> = names.iter().map(|name| JsonString(Cow::Borrowed(name))).collect();
    WireNodes::written(&names, &Names::default())
}

fn objects(nodes: &[&str]) -> WireNodes {
    let body = Bytes::from(format!("[{}]", nodes.join(" ,\n")));
    let mut start = 1;
    let mut slice = |node: &&str| {
        let slice = body.slice(start..start + node.len());
        start += node.len() + 3;
        slice
    };
    let slices = nodes.iter().map(&mut slice).collect();
    WireNodes::objects(&body, slices)
}

fn filtered(nodes: &[&str], outcome: &FilterOutcome) -> String {
    text(filter(&objects(nodes), outcome))
}

#[test]
fn names_are_answered_as_names() {
    let nodes = names(&["a", "b", "c", "d"]);
    assert_eq!(
        text(filter(&nodes, &outcome())),
        r#"{"Nodes":null,"NodeNames":["a","d"],"FailedNodes":{"b":"p: \"full\"\n"},"FailedAndUnresolvableNodes":{"c":"p: never"},"Error":""}"#
    );
    let scores = vec![0, 10, 5, 1];
    assert_eq!(
        text(prioritize(&nodes, &scores)),
        r#"[{"Host":"a","Score":0},{"Host":"b","Score":10},{"Host":"c","Score":5},{"Host":"d","Score":1}]"#
    );
    let fine = vec![0, 10_000, 6_103, 1_000_624_999];
    let expected = r#"[{"Host":"a","Score":0},{"Host":"b","Score":10000},{"Host":"c","Score":6103},{"Host":"d","Score":1000624999}]"#;
    assert_eq!(text(prioritize(&nodes, &fine)), expected);
}

#[test]
fn objects_are_answered_byte_for_byte() {
    let json =
        ["a", "b", "c"].map(|name| format!("{{ \"metadata\" :{{\"uid\":1,\"name\":\"{name}\"}},\"\\u0061\":[1.0]}}"));
    let nodes = objects(&json.each_ref().map(String::as_str));
    assert_eq!(
        text(filter(&nodes, &outcome())),
        format!(
            r#"{{"Nodes":{{"metadata":{{}},"items":[{}]}},"NodeNames":null,"FailedNodes":{{"b":"p: \"full\"\n"}},"FailedAndUnresolvableNodes":{{"c":"p: never"}},"Error":""}}"#,
            json[0]
        )
    );
    let scores = vec![1, 2, 3];
    assert_eq!(
        text(prioritize(&nodes, &scores)),
        r#"[{"Host":"a","Score":1},{"Host":"b","Score":2},{"Host":"c","Score":3}]"#
    );
}

#[test]
fn neighbours_are_answered_in_one_stretch() {
    let rejected = |nodes: &[u32]| FilterOutcome {
        rejected: nodes.iter().map(|node| Rejection { node: *node, reason: 0, unresolvable: true }).collect(),
        reasons: vec![reason("r")],
        ..FilterOutcome::default()
    };
    let nodes: Vec<String> = (0..6).map(|at| format!(r#"{{"metadata":{{"name":"n{at}"}}}}"#)).collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    for gone in [&[][..], &[0], &[5], &[2, 3], &[0, 2, 4], &[0, 1, 2, 3, 4, 5]] {
        let reply: serde_json::Value = serde_json::from_str(&filtered(&nodes, &rejected(gone))).unwrap();
        let kept: Vec<u32> = (0..6).filter(|at| !gone.contains(at)).collect();
        let names = reply["Nodes"]["items"].as_array().unwrap().iter().map(|node| node["metadata"]["name"].clone());
        assert_eq!(names.collect::<Vec<_>>(), kept.iter().map(|at| format!("n{at}")).collect::<Vec<_>>());
        assert_eq!(reply["FailedAndUnresolvableNodes"].as_object().unwrap().len(), gone.len());
    }
}

#[test]
fn nothing_is_empty_and_never_null() {
    let (nodes, nothing) = (names(&[]), FilterOutcome::default());
    assert_eq!(
        text(filter(&nodes, &nothing)),
        r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#
    );
    assert_eq!(
        filtered(&[], &nothing),
        r#"{"Nodes":{"metadata":{},"items":[]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}"#
    );
    assert_eq!(text(prioritize(&nodes, &[])), "[]");
    assert_eq!(text(preempt(&[], &PreemptOutcome::default())), r#"{"NodeNameToMetaVictims":{}}"#);
}

#[test]
fn victims_are_answered_by_uid() {
    let query = |node| CandidateQuery { node: Cow::Borrowed(node), victims: Victims::Uids(vec![]), pdb_violations: 0 };
    let kept = |candidate, victims: &[&str], pdb_violations| SurvivingCandidate {
        candidate,
        victims: victims.iter().map(|uid| (*uid).into()).collect(),
        spans_nodes: false,
        pdb_violations,
    };
    let kept = vec![kept(0, &["u", "v"], 12), kept(2, &[], -3)];
    assert_eq!(
        text(preempt(&[query("a"), query("b"), query("c")], &PreemptOutcome { kept, ..PreemptOutcome::default() })),
        r#"{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u"},{"UID":"v"}],"NumPDBViolations":12},"c":{"Pods":[],"NumPDBViolations":-3}}}"#
    );
}

#[test]
fn errors_stand_in_the_error_field() {
    assert_eq!(
        text(filter_error("a \"b\"")),
        r#"{"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":"a \"b\""}"#
    );
    assert_eq!(text(error("é\u{1}")), "{\"Error\":\"é\\u0001\"}");
}

#[test]
fn a_name_is_found_wherever_it_stands() {
    let table = [
        (r#"{"metadata":{"name":"a","x":1}}"#, "a"),
        (r#"{"kind":"Node","metadata":{"labels":{"name":"x"},"name":"\u0061"}}"#, "a"),
        (r#"{"Metadata":{"name":"x"},"metadata":{"name":"b"}}"#, "b"),
        (r#"{"metadata":{}}"#, ""),
        ("[]", ""),
    ];
    for (json, expected) in table {
        assert_eq!(node_name(json.as_bytes()), expected, "{json}");
    }
}
