//! The pods that wait: the attempts about each, and the nodes that are rejected, by reason.

use std::{sync::Arc, time::Duration};

use serde_json::{Value as Json, json};

use super::{
    fixture::*,
    whole_answer::{ask, full, mk_fixture, mk_pool, mk_tried, show},
};
use crate::{
    decide::{Group, Nodes, PendingPod, ReasonBy, RejectedNodes, Roster},
    model::{FaultKind, NominatedFor, Pod, WaitingChange},
};

const MINUTE: Duration = Duration::from_mins(1);

fn pending(fixture: &Fixture) -> PendingPod {
    fixture.gateway.pending_pod("ml", "new").unwrap()
}

fn rejected(fixture: &Fixture) -> Arc<RejectedNodes> {
    pending(fixture).asked[0].rejected.clone().unwrap()
}

/// The pod with another part of its JSON.
fn mk_pod_with(change: impl FnOnce(&mut Json)) -> Arc<Pod> {
    let mut pod: Json = serde_json::from_slice(mk_pod().json().unwrap()).unwrap();
    change(&mut pod);
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}

#[test]
fn a_pod_has_its_attempts_and_the_nodes_of_the_last_answer_by_reason() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(3)));
    assert!(pending(&fixture).asked.is_empty());
    let first = pending(&fixture).first_seen;
    for window in [10..110, 40..140, 3..103] {
        fixture.clock.advance(MINUTE);
        ask(&fixture, &mk_pod(), window);
    }
    // kube-scheduler asks about the nominated node alone before it asks about others.
    ask(&fixture, &mk_tried(Some("n20"), ""), 20..21);
    let [asked] = &pending(&fixture).asked[..] else { panic!("one group") };
    assert_eq!((asked.attempts, asked.first, asked.last), (3, first + MINUTE, first + 3 * MINUTE));
    let answer = rejected(&fixture);
    assert_eq!(answer.to_string(), "147 pool: outside the pool, 3 Insufficient cpu");
    assert_eq!((answer.nodes, answer.is_whole, answer.others), (150, true, 0));
    let by: Vec<ReasonBy> = answer.reasons.iter().map(|reason| reason.by.clone()).collect();
    assert_eq!(by, [ReasonBy::Policy { id: "pool".into(), version: 1 }, ReasonBy::KubeScheduler]);
    // kube-scheduler has named all nodes that its own filters accept.
    ask(&fixture, &mk_pod(), 10..109);
    let answer = rejected(&fixture);
    assert_eq!((answer.to_string().as_str(), answer.is_whole), ("99 pool: outside the pool", false));
    assert_eq!(fixture.gateway.pending().len(), 1);
    fixture.gateway.waiting_changed(WaitingChange::Gone("uid-new".into()));
    assert!(fixture.gateway.pending().is_empty() && fixture.gateway.pending_pod("ml", "new").is_none());
}

#[test]
fn no_more_than_twenty_reasons_are_kept_and_the_rest_is_counted() {
    let policy = FakePolicy::default()
        .filter_each(|view, node| unschedulable(&format!("{} {}", name_of(view, node), "x".repeat(1_000))));
    let fixture = Fixture::new(vec![mk_member("each", policy, |_| {})], Some(mk_pool(50, |_, _| {}, &[])));
    ask(&fixture, &mk_pod(), 0..50);
    let answer = rejected(&fixture);
    assert_eq!((answer.nodes, answer.reasons.len(), answer.others), (50, 20, 30));
    assert!(answer.to_string().ends_with(", 30 others"));
    let bytes = size_of_val(&*answer.reasons) + answer.reasons.iter().map(|reason| reason.text.len()).sum::<usize>();
    assert!(bytes < 4_000, "there may be 20,000 pods: {bytes}");
}

#[test]
fn the_log_has_a_pod_when_it_is_refused_first_and_when_its_reasons_change() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(3)));
    let line = |text: &str| vec![format!("/uid-new: {text} of 150, None")];
    let full_pool = line("147 pool: outside the pool, 3 Insufficient cpu");
    for (window, expected) in [(10..110, full_pool.clone()), (40..140, vec![]), (20..21, vec![])] {
        let pod = if window.len() == 1 { mk_tried(Some("n20"), "") } else { mk_pod() };
        ask(&fixture, &pod, window);
        assert_eq!(fixture.left(), expected);
    }
    // Numbers alone may change with each attempt.
    let smaller = mk_pool(140, |_, _| {}, &full(3));
    fixture.gateway.set_cluster(smaller);
    ask(&fixture, &mk_pod(), 10..110);
    assert!(fixture.left().is_empty());
    fixture.clock.advance(10 * MINUTE);
    ask(&fixture, &mk_pod(), 10..110);
    assert_eq!(fixture.left(), ["/uid-new: 137 pool: outside the pool, 3 Insufficient cpu of 140, None"]);
    // Other reasons are told at once, but not without end.
    let reasons = ["a", "b"];
    let mut lines = vec![];
    for at in 0..100 {
        let policy = FakePolicy::default().filter_each(move |_, _| unschedulable(reasons[at % 2]));
        fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![mk_member("p", policy, |_| {})])));
        ask(&fixture, &mk_pod(), 10..110);
        lines.extend(fixture.left());
    }
    assert_eq!(lines.len(), 4, "{lines:?}");
}

#[test]
fn a_pod_that_is_nominated_at_once_is_logged_with_its_node() {
    let (fixture, _) = mk_fixture(mk_pool(150, |_, _| {}, &full(2)));
    ask(&fixture, &mk_pod(), 10..110);
    let lines = fixture.left();
    assert!(lines.len() == 1 && lines[0].ends_with(" of 150, Some(\"n2\")"), "{lines:?}");
    show(&fixture, &mk_tried(Some("n2"), ""), Some("n2"));
    assert_eq!(pending(&fixture).nominated, Some(NominatedFor { node: "n2".into(), is_own: true }));
}

#[test]
fn the_main_reason_is_that_of_the_most_nodes_of_the_last_answer() {
    let fixture = Fixture::of([mk_member("p", mk_refusing(&["n1", "n2"], "closed"), |_| {})]);
    let group = |reason| Group::new(vec![mk_member("q", mk_refusing(&["n1"], reason), |_| {})]);
    let main = |fixture: &Fixture| {
        let main = pending(fixture).main_reason()?;
        let by = match main.by {
            ReasonBy::Policy { id, .. } => id.to_string(),
            by => format!("{by:?}"),
        };
        Some((by, main.text.into_string(), main.nodes))
    };
    let of = |by: &str, text: &str, nodes| Some((by.to_owned(), text.to_owned(), nodes));
    fixture.filter(&["n1"]).unwrap();
    assert_eq!(main(&fixture), of("p", "closed", Some((1, 1))));
    // Another group has refused it later.
    let groups = fixture.gateway.roster();
    let root = groups.group("").unwrap().clone();
    let roster = Roster::new([("".into(), root), ("q".into(), group("taken"))].into(), vec![]);
    fixture.gateway.set_roster(Arc::new(roster));
    fixture.clock.advance(MINUTE);
    let names = cows(&["n1"]);
    drop(fixture.gateway.filter("q", &fixture.query(Nodes::Names(&names))).unwrap());
    assert_eq!(main(&fixture), of("q", "taken", Some((1, 1))));
    fixture.clock.advance(MINUTE);
    fixture.gateway.stable_fault(&mk_pod(), "p", "policy p failed to filter: trap".to_owned(), "it is broken");
    assert_eq!(main(&fixture), of("p", "policy p failed to filter: trap: it is broken", None));
    // A request leaves it a node: most likely it is bound.
    fixture.clock.advance(MINUTE);
    fixture.filter(&["n3"]).unwrap();
    assert!(fixture.gateway.pending().is_empty(), "no watch shows it");
    fixture.clock.advance(MINUTE);
    fixture.gateway.stable_fault(&mk_pod(), "p", "policy p failed to filter: trap".to_owned(), "again");
    assert_eq!(main(&fixture), of("p", "policy p failed to filter: trap: again", None));
    fixture.clock.advance(MINUTE);
    fixture.filter(&["n3"]).unwrap();
    show(&fixture, &mk_pod(), None);
    assert_eq!(main(&fixture), None);
}

#[test]
fn a_pod_that_no_request_has_asked_about_has_its_condition_or_what_keeps_it_from_being_tried() {
    let fixture = Fixture::of([mk_member("p", mk_failing(FaultKind::Trap), |_| {})]);
    let condition = json!([{"type": "Ready"}, {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available: 3 Insufficient cpu.", "lastTransitionTime": "2026-01-02T03:04:05Z"}]);
    show(&fixture, &mk_pod_with(|pod| pod["status"] = json!({"conditions": condition})), None);
    let shown = pending(&fixture);
    let main = shown.main_reason().unwrap();
    assert_eq!((main.by, main.nodes), (ReasonBy::KubeScheduler, None));
    assert_eq!(&*main.text, "0/3 nodes are available: 3 Insufficient cpu.");
    assert_eq!(shown.condition().unwrap().since.as_deref(), Some("2026-01-02T03:04:05Z"));
    assert_eq!(shown.not_tried(), None);
    show(&fixture, &mk_pod_with(|pod| pod["spec"]["schedulingGates"] = json!([{"name": "quota"}])), None);
    let shown = pending(&fixture);
    assert_eq!((shown.main_reason(), shown.not_tried()), (None, Some("it has a scheduling gate")));
}
