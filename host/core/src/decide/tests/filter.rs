//! filter: the chain, its reasons, and names that the cluster does not know.

use std::sync::{Arc, Mutex};

use super::fixture::*;
use crate::{
    decide::{DecideError, Nodes, Query, ScoreScale},
    model::{Clock, Match, Mode, Operator, Pod, Read, Requirement, Value, Verdict},
};

fn reason(policy: &str, reason: &str) -> String {
    let text: String = reason.into();
    let refusing = FakePolicy::default().filter_each(move |_, _| Verdict::Unschedulable(text.as_str().into()));
    let fixture = Fixture::of([mk_member(policy, refusing, |_| {})]);
    fixture.filter(&["n1"]).unwrap()["n1"].0.clone()
}

#[test]
fn without_policies_every_node_stays() {
    assert_eq!(Fixture::of([]).filter(&["n1", "n2", "unheard-of"]), Ok(Refused::new()));
}

#[test]
fn policies_run_by_order_then_by_name() {
    let fits = || FakePolicy::default().filter_each(|_, _| Verdict::Fits);
    let fixture = Fixture::of([
        mk_member("z", fits(), |config| config.order = -1),
        mk_member("b", fits(), |_| {}),
        mk_member("c", fits(), |config| config.order = 50),
        mk_member("a", fits(), |_| {}),
    ]);
    fixture.filter(&["n1"]).unwrap();
    assert_eq!(fixture.asked(), ["z", "c", "a", "b"]);
}

#[test]
fn a_policy_is_asked_about_the_nodes_that_still_stand() {
    let seen = Arc::new(Mutex::new(vec![]));
    let record = Arc::clone(&seen);
    let recording = FakePolicy::default().filter(move |ask, nodes| {
        assert_eq!(ask.view.read(Read::NodesCount), Ok(Value::Number(nodes.len() as i64)));
        *record.lock().unwrap() = nodes.iter().map(|node| name_of(&ask.view, *node)).collect();
        Ok(nodes.iter().map(|node| unresolvable(&format!("no {node}"))).collect())
    });
    let fixture =
        Fixture::of([mk_member("first", mk_refusing(&["n2"], "no"), |_| {}), mk_member("second", recording, |_| {})]);
    let refused = fixture.filter(&["n3", "n2", "n1"]).unwrap();
    assert_eq!(*seen.lock().unwrap(), ["n3", "n1"]);
    assert_eq!(refused["n2"], ("first: no".into(), false));
    assert_eq!(refused["n3"], ("second: no 0".into(), true));
    assert_eq!(refused["n1"], ("second: no 1".into(), true));
}

#[test]
fn nobody_is_asked_when_no_node_stands() {
    let fixture = Fixture::of([
        mk_member("a", mk_refusing(&["n1"], "no"), |_| {}),
        mk_member("b", mk_refusing(&[], "no"), |_| {}),
    ]);
    fixture.filter(&["n1"]).unwrap();
    assert_eq!(fixture.asked(), ["a"]);
    fixture.filter(&[]).unwrap();
    assert_eq!(fixture.asked(), [""; 0]);
}

#[test]
fn a_reason_stands_on_one_line_behind_its_policy() {
    let table = [
        ("wrong pool", "p: wrong pool"),
        ("  wrong pool \n", "p: wrong pool"),
        ("wrong\npool\t\u{7f}!", "p: wrong pool  !"),
        ("", "p: no reason given"),
        (" \n ", "p: no reason given"),
        ("\0", "p: no reason given"),
        ("\u{1b}\u{85}", "p: no reason given"),
        ("größer als 1 GiB", "p: größer als 1 GiB"),
    ];
    for (given, expected) in table {
        assert_eq!(reason("p", given), expected, "{given:?}");
    }
    let longest = "x".repeat(crate::model::MAX_REASON_BYTES);
    assert_eq!(reason("p", &longest), format!("p: {longest}"));
}

#[test]
fn equal_reasons_are_one_text() {
    let alternating = FakePolicy::default().filter_each(|_, node| match node % 2 {
        0 => unschedulable("even"),
        _ => unresolvable("odd"),
    });
    let outcome = Fixture::of([mk_member("p", alternating, |_| {})]).filter_outcome(&["n1", "n2", "n3"]).unwrap();
    assert_eq!(outcome.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), ["p: even", "p: odd"]);
    assert_eq!(outcome.rejected.iter().map(|rejection| rejection.reason).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn rejections_are_listed_in_the_order_of_the_request() {
    let fixture = Fixture::of([
        mk_member("a", mk_refusing(&["n3"], "no"), |_| {}),
        mk_member("b", mk_refusing(&["n1"], "no"), |_| {}),
    ]);
    let outcome = fixture.filter_outcome(&["n1", "absent", "n2", "n3"]).unwrap();
    assert_eq!(outcome.rejected.iter().map(|rejection| rejection.node).collect::<Vec<_>>(), [0, 1, 3]);
}

#[test]
fn an_unknown_name_is_rejected_and_may_be_tried_again() {
    let fixture = Fixture::of([mk_member("p", mk_refusing(&["n1"], "no"), |_| {})]);
    let refused = fixture.filter(&["n1", "new-node", "n2"]).unwrap();
    assert_eq!(refused["new-node"], ("plimsoll: node not seen yet".into(), false));
    assert_eq!(refused.keys().collect::<Vec<_>>(), ["n1", "new-node"]);
    let only_unknown = fixture.filter(&["new-node"]).unwrap();
    assert_eq!(only_unknown.len(), 1);
}

#[test]
fn an_unknown_name_stays_where_no_filter_has_a_say() {
    let elsewhere = |config: &mut crate::model::PolicyConfig| config.matches.namespaces = Some(vec!["web".into()]);
    let fixture = Fixture::of([
        mk_member("scores", FakePolicy::default().score_each(|_, _| 1), |_| {}),
        mk_member("elsewhere", mk_refusing(&["n1"], "no"), elsewhere),
        mk_member("shadow", mk_refusing(&["n1"], "no"), |config| config.mode = Mode::Shadow),
        mk_member("off", mk_refusing(&["n1"], "no"), |config| config.mode = Mode::Off),
    ]);
    assert_eq!(fixture.filter(&["n1", "new-node"]), Ok(Refused::new()));
    assert_eq!(fixture.asked(), ["shadow"]);
}

#[test]
fn only_policies_that_match_the_pod_are_asked() {
    let everything = |config: &mut crate::model::PolicyConfig| {
        let requirement = Requirement { key: "team".into(), operator: Operator::In, values: vec!["vision".into()] };
        config.matches = Match {
            namespaces: Some(vec!["ml".into()]),
            pod_selector: Some(vec![requirement]),
            resources: Some(vec!["cpu".into()]),
            ..Match::default()
        };
    };
    let members = || {
        [
            mk_member("all", mk_refusing(&["n1"], "no"), everything),
            mk_member("gpu", mk_refusing(&["n1"], "no"), |config| {
                everything(config);
                config.matches.resources = Some(vec!["example.com/gpu".into()]);
            }),
        ]
    };
    let fixture = Fixture::of(members());
    fixture.filter(&["n1"]).unwrap();
    assert_eq!(fixture.asked(), ["all"]);

    let names = cows(&["n1"]);
    let pod = Arc::new(Pod::from_json(bytes(&serde_json::json!({"metadata": {"name": "p"}}))).unwrap());
    let query = Query { pod, ..fixture.query(Nodes::Names(&names)) };
    assert!(fixture.gateway.filter("", &query).unwrap().0.rejected.is_empty());
    assert_eq!(fixture.asked(), [""; 0]);
}

#[test]
fn an_unknown_group_is_an_error_that_names_it() {
    let fixture = Fixture::of([]);
    let query = fixture.query(Nodes::Names(&[]));
    assert_eq!(fixture.gateway.filter("gpu", &query).unwrap_err(), DecideError::UnknownGroup("gpu".into()));
    assert!(fixture.gateway.prioritize(ScoreScale::Coarse, "gpu", &query).is_err());
    assert!(fixture.gateway.preempt("gpu", mk_pod(), &[], fixture.clock.now()).is_err());
}
