//! Policies in shadow mode are asked once the reply is out, and never obeyed.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::fixture::*;
use crate::{
    decide::{Nodes, Query},
    model::{FaultKind, Mode, OnError, Pod, PolicyConfig, Preemption, RequestId, Verb, Verdict},
};

fn in_shadow(config: &mut PolicyConfig) {
    (config.mode, config.on_error) = (Mode::Shadow, Some(OnError::Fail));
}

#[test]
fn a_shadow_policy_is_asked_after_the_reply_and_recorded() {
    let fixture = Fixture::of([
        mk_member("shadow", mk_refusing(&["n1", "n2"], "no"), in_shadow),
        mk_member("real", mk_refusing(&["n3"], "no"), |_| {}),
    ]);
    let names = cows(&["n1", "n2", "n3"]);
    let (outcome, after) = fixture.gateway.filter("", &fixture.query(Nodes::Names(&names))).unwrap();
    assert_eq!(by_name(&outcome, &["n1", "n2", "n3"]).keys().collect::<Vec<_>>(), ["n3"]);
    assert_eq!(fixture.asked(), ["real"]);
    after.run();
    let calls = fixture.calls();
    assert_eq!(calls.len(), 1);
    // It is asked about every node of the request, since it is no part of the chain.
    assert_eq!((calls[0].policy.as_str(), calls[0].verb, calls[0].outcome), ("shadow", Verb::Filter, Ok((3, 2))));
}

#[test]
fn a_shadow_policy_scores_without_effect() {
    let fixture = Fixture::of([
        mk_member("shadow", FakePolicy::default().score_each(|_, _| 100).rank(|_| Ok(vec![100])), in_shadow),
        mk_member("real", FakePolicy::default().score_each(|_, _| 30), |_| {}),
    ]);
    assert_eq!(fixture.prioritize(&["n1"]), Ok(vec![3]));
    let verbs: Vec<_> = fixture.calls().into_iter().map(|call| (call.policy, call.verb)).collect();
    let expected = [("real", Verb::Score), ("shadow", Verb::Score), ("shadow", Verb::Rank)];
    assert_eq!(verbs, expected.map(|(policy, verb)| (policy.to_owned(), verb)));
}

#[test]
fn the_faults_of_a_shadow_policy_are_recorded_and_open_its_circuit_alone() {
    let fixture = Fixture::of([
        mk_member("shadow", mk_failing(FaultKind::Trap), in_shadow),
        mk_member("real", mk_refusing(&["n1"], "no"), |_| {}),
    ]);
    for number in 0..6 {
        assert_eq!(fixture.filter_about(&number.to_string(), &["n1"]).unwrap()["n1"].0, "real: no");
    }
    assert_eq!(fixture.opened(), ["shadow"]);
    assert_eq!(fixture.calls().last().unwrap().outcome, Err(FaultKind::CircuitOpen));
}

/// Otherwise the answers of all of them would be in memory at once.
#[test]
fn the_answers_of_a_shadow_policy_are_remembered_before_the_next_one_is_asked() {
    let first = mk_member("a", mk_refusing(&["n1"], "no").function(), in_shadow);
    let (own, empty) = (Arc::clone(&first), first.cache.bytes());
    let second = FakePolicy::default()
        .filter_each(move |_, _| if own.cache.bytes() > empty { unschedulable("remembered") } else { Verdict::Fits });
    let fixture = Fixture::of([first, mk_member("b", second, in_shadow)]);
    fixture.filter(&["n1"]).unwrap();
    let outcomes: Vec<_> = fixture.calls().into_iter().map(|call| (call.policy, call.outcome)).collect();
    assert_eq!(outcomes, [("a".to_owned(), Ok((1, 1))), ("b".to_owned(), Ok((1, 1)))]);
}

#[test]
fn a_shadow_policy_has_the_time_of_a_request_from_when_it_is_asked() {
    let fixture = Fixture::of([mk_member("shadow", mk_refusing(&[], "no"), in_shadow)]);
    let names = cows(&["n1"]);
    let (_, after) = fixture.gateway.filter("", &fixture.query(Nodes::Names(&names))).unwrap();
    fixture.clock.advance(Duration::from_mins(1));
    after.run();
    assert_eq!(fixture.calls()[0].outcome, Ok((1, 0)));
}

#[test]
fn a_shadow_policy_is_asked_about_what_was_proposed_for_preemption() {
    let cluster = || mk_cluster(&[mk_node("n1", &[]), mk_node("n2", &[])], &[mk_placed("u1", "n1", 0, "1")]);
    let rejecting = || FakePolicy::default().preempt_each(|_, _| Preemption::Reject("no".into()));
    let candidates = [mk_candidate("n1", &["u1"]), mk_candidate("unheard-of", &["x"])];
    for real in [None, Some(mk_member("real", mk_refusing(&["n1"], "no"), |_| {}))] {
        let shadow = mk_member("shadow", rejecting(), in_shadow);
        let fixture = Fixture::new(std::iter::once(shadow).chain(real.clone()).collect(), Some(cluster()));
        let outcome = fixture.preempt(&candidates).unwrap();
        assert_eq!(outcome.kept.len(), if real.is_some() { 0 } else { 2 });
        let last = fixture.calls().pop().unwrap();
        assert_eq!((last.policy.as_str(), last.verb, last.outcome), ("shadow", Verb::Preempt, Ok((1, 1))));
    }
}

#[test]
fn a_shadow_policy_is_never_the_reason_that_preemption_fails() {
    let out_of_range = FakePolicy::default().preempt_each(|_, _| Preemption::Replace(vec![7]));
    let fixture = Fixture::new(vec![mk_member("shadow", out_of_range, in_shadow)], None);
    assert_eq!(kept(&fixture.preempt(&[mk_candidate("n1", &["u"])]).unwrap()), [(0, vec!["u"])]);
    assert_eq!(fixture.calls(), []);
    fixture.gateway.set_cluster(mk_cluster(&[mk_node("n1", &[])], &[mk_placed("u", "n1", 0, "1")]));
    assert_eq!(kept(&fixture.preempt(&[mk_candidate("n1", &["u"])]).unwrap()), [(0, vec!["u"])]);
    assert_eq!(fixture.calls()[0].outcome, Err(FaultKind::Output));
}

#[test]
fn a_policy_that_is_off_is_never_asked() {
    let fixture = Fixture::of([mk_member("off", mk_failing(FaultKind::Trap), |config| config.mode = Mode::Off)]);
    assert_eq!(fixture.filter(&["n1"]), Ok(Refused::new()));
    assert_eq!(fixture.prioritize(&["n1"]), Ok(vec![0]));
    assert_eq!(kept(&fixture.preempt(&[mk_candidate("n1", &["u"])]).unwrap()), [(0, vec!["u"])]);
    assert_eq!(fixture.calls(), []);
}

#[test]
fn what_is_logged_of_a_call_names_the_request_the_pod_and_the_policy() {
    let fixture = Fixture::of([
        mk_member("shadow", mk_refusing(&["n2", "n3"], "no"), in_shadow),
        mk_member("fails", mk_failing(FaultKind::Trap), |config| config.on_error = Some(OnError::Ignore)),
    ]);
    let names = cows(&["n1", "n2", "n3"]);
    let json = br#"{"metadata":{"name":"solver-1","namespace":"team-a","uid":"u-1"}}"#;
    let pod = Arc::new(Pod::from_json(Bytes::from_static(json)).unwrap());
    let query = Query { pod, ..fixture.query(Nodes::Names(&names)) };
    let id = RequestId::given(b"r-7").unwrap();
    let (_, after) = id.scope(|| fixture.gateway.filter("", &query)).unwrap();
    // Behind the reply nothing is in scope any more.
    after.run();
    assert_eq!(
        fixture.logged(),
        ["r-7 team-a/solver-1 u-1 fails filter trap", "r-7 team-a/solver-1 u-1 shadow filter 2/3 n2: no"]
    );
}

#[test]
fn the_answers_of_a_shadow_policy_are_remembered() {
    let fixture = Fixture::of([mk_member("shadow", mk_refusing(&["n2"], "no").function(), in_shadow)]);
    for _ in 0..3 {
        fixture.filter(&["n1", "n2"]).unwrap();
    }
    assert_eq!(fixture.evaluated(), [2, 0, 0]);
}
