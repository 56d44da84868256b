//! Values that change between the moment when a policy reads them and the moment when the place is reserved.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value as Json, json};

use super::{
    super::fixture::{FakePolicy, Refused, mk_cluster, mk_member, mk_node, mk_placed, unschedulable},
    api::{Desk, mk_waiting},
};
use crate::{
    decide::BindOutcome,
    model::{Fault, FaultKind, MetadataEntry, NodeRead, OnError, Read, Selector, Value, Verdict, View},
};

const CLUSTER: [&str; 1] = ["cluster.count"];

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{read:?}: {other:?}"),
    }
}

fn web() -> Selector<&'static str> {
    Selector { label: Some(("app", "web")), ..Selector::all() }
}

/// Accepts a node while the cluster has fewer than `most` pods of the app `web`.
fn by_count(most: i64) -> impl Fn(&View, u32) -> Verdict {
    move |view, _| if number(view, Read::ClusterCount(web())) < most { Verdict::Fits } else { unschedulable("full") }
}

fn counting(filter: impl Fn(&View, u32) -> Verdict + Send + Sync + 'static) -> FakePolicy {
    FakePolicy::default().filter_each(filter).function().importing(&CLUSTER)
}

fn mk_web(name: &str) -> Json {
    let mut pod = mk_waiting(name);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod
}

fn texts(results: Vec<super::api::Bound>) -> Vec<String> {
    let text = |result: super::api::Bound| result.map_or_else(|error| error.to_string(), |bound| format!("{bound:?}"));
    let mut texts: Vec<String> = results.into_iter().map(text).collect();
    texts.sort();
    texts
}

const FULL: &str = "seats: full (asked again at bind: the cluster has changed since the filter)";

/// Two binds to different nodes, of which each reads before the other has reserved.
fn two_at_once(mk_policy: impl Fn(Arc<dyn Fn() + Send + Sync>) -> FakePolicy, is_blind: bool) -> (Desk, Vec<String>) {
    let (barrier, asked) = (Arc::new(Barrier::new(2)), AtomicUsize::new(0));
    let meet: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        if asked.fetch_add(1, Ordering::SeqCst) < 2 {
            barrier.wait();
        }
    });
    let desk = Desk::new(vec![mk_member("seats", mk_policy(meet), |_| {})], ["p", "q"].map(mk_web).into());
    if is_blind {
        desk.api.reserve_blindly();
    }
    let results = thread::scope(|scope| {
        let binds = [("p", "n1"), ("q", "n2")].map(|(pod, node)| {
            let desk = &desk;
            scope.spawn(move || desk.bind(pod, node))
        });
        binds.into_iter().map(|bind| bind.join().unwrap()).collect()
    });
    (desk, texts(results))
}

#[test]
fn of_two_binds_to_different_nodes_that_saw_the_last_seat_one_gets_it() {
    let filter = |meet: Arc<dyn Fn() + Send + Sync>| {
        counting(move |view, node| {
            let verdict = by_count(1)(view, node);
            meet();
            verdict
        })
    };
    let (desk, results) = two_at_once(filter, false);
    assert_eq!(results, ["Bound", FULL]);
    assert_eq!(desk.fixture.asked_again(), 1);
    let bind = |meet: Arc<dyn Fn() + Send + Sync>| {
        FakePolicy::default().bind(move |ask, _| {
            let is_free = number(&ask.view, Read::ClusterCount(web())) < 1;
            meet();
            Ok(if is_free { Ok(vec![]) } else { Err("full".to_owned()) })
        })
    };
    assert_eq!(two_at_once(bind, false).1, ["Bound", "seats: full"]);
    // Without the comparison both get it: the test would notice.
    assert_eq!(two_at_once(filter, true).1, ["Bound", "Bound"]);
    assert_eq!(two_at_once(bind, true).1, ["Bound", "Bound"]);
}

#[test]
fn a_count_that_passed_the_limit_after_the_filter_refuses_the_bind_and_says_so() {
    let desk = Desk::new(vec![mk_member("seats", counting(by_count(1)), |_| {})], ["p", "q"].map(mk_web).into());
    assert_eq!(desk.fixture.filter(&["n1", "n2"]), Ok(Refused::new()), "both pods were filtered before");
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.bind("q", "n2").unwrap_err().to_string(), FULL);
    assert_eq!(desk.api.writes().len(), 1);
    // A module that imports no count is not asked, so the limit is passed: asking is what keeps it.
    let unknown = FakePolicy::default().filter_each(by_count(1)).function();
    let desk = Desk::new(vec![mk_member("seats", unknown, |_| {})], ["p", "q"].map(mk_web).into());
    assert_eq!((desk.bind("p", "n1"), desk.bind("q", "n2")), (Ok(BindOutcome::Bound), Ok(BindOutcome::Bound)));
    assert!(desk.fixture.asked().is_empty());
}

#[test]
fn a_filter_that_read_no_count_has_no_say_in_a_bind() {
    let by_label = |view: &View, node: u32| match view.read(Read::Node(node, NodeRead::Label("zone"))) {
        Ok(Value::Text(_)) => Verdict::Fits,
        _ => unschedulable("no zone any more"),
    };
    let desk = Desk::new(vec![mk_member("zones", counting(by_label), |_| {})], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.fixture.asked(), ["zones"]);
}

#[test]
fn a_filter_that_compares_the_nodes_of_its_request_has_no_say_in_a_bind() {
    let compares = |view: &View, node: u32| {
        let nodes = number(view, Read::NodesCount);
        let here = number(view, Read::PlacedCount(node));
        if nodes > here + 1 { Verdict::Fits } else { unschedulable("alone") }
    };
    let desk = Desk::new(vec![mk_member("spread", counting(compares), |_| {})], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
}

#[test]
fn a_filter_that_fails_at_a_bind_is_left_out_only_if_its_sidecar_says_so() {
    let failing = || FakePolicy::default().filter(|_, _| Err(Fault::new(FaultKind::Trap, "it fails"))).function();
    let desk = |on_error| {
        let member = mk_member("seats", failing().importing(&CLUSTER), |config| config.on_error = on_error);
        Desk::new(vec![member], vec![mk_waiting("p")])
    };
    assert_eq!(desk(None).bind("p", "n1").unwrap_err().to_string(), "policy seats failed to filter: trap: it fails");
    assert_eq!(desk(Some(OnError::Ignore)).bind("p", "n1"), Ok(BindOutcome::Bound));
}

#[test]
fn a_change_of_what_nobody_has_read_makes_no_policy_be_asked_again() {
    let reads = |label: &'static str| {
        FakePolicy::default().bind(move |ask, node| {
            let value = ask.view.read(Read::Node(node, NodeRead::Label(label))).unwrap() == Value::text("new");
            let pods = number(&ask.view, Read::PlacedCount(node));
            Ok(Ok(vec![MetadataEntry::new("e.com/seen", format!("{value} {pods}"))]))
        })
    };
    for (label, other, asked) in [("zone", 0, 2), ("rack", 0, 1), ("rack", 1, 2)] {
        let desk = Desk::new(vec![mk_member("a", reads(label), |_| {})], vec![mk_waiting("p")]);
        let (gateway, nodes) = (Arc::clone(&desk.fixture.gateway), [mk_node("n1", &[("zone", "new")])]);
        let pods: Vec<Json> = (0..other).map(|at| mk_placed(&format!("u{at}"), "n1", 0, "1")).collect();
        desk.api.before_reserve(move || gateway.set_cluster(mk_cluster(&nodes, &pods)));
        assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
        assert_eq!(desk.fixture.asked().len(), asked, "{label} {other}");
    }
}

#[test]
fn after_more_reads_than_are_kept_any_other_cluster_counts_as_changed() {
    let greedy = || {
        FakePolicy::default().bind(|ask, _| {
            for app in 0..200 {
                let app = app.to_string();
                number(&ask.view, Read::ClusterCount(Selector { label: Some(("app", &app)), ..Selector::all() }));
            }
            Ok(Ok(vec![]))
        })
    };
    let desk = Desk::new(vec![mk_member("a", greedy(), |_| {})], vec![mk_waiting("p")]);
    let nodes = ["n1", "n2"].map(|name| mk_node(name, &[]));
    desk.fixture.gateway.set_cluster(mk_cluster(&nodes, &[]));
    let gateway = Arc::clone(&desk.fixture.gateway);
    desk.api.before_reserve(move || {
        gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("u", "n2", 0, "1")]));
    });
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.fixture.asked().len(), 2);
}
