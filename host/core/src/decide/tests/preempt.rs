//! preempt: filters asked again with the victims gone, then the chain of `preempt` policies.

use std::sync::Arc;

use super::fixture::*;
use crate::{
    decide::{CandidateQuery, NodeObject, Victims},
    model::{
        CandidateRead, Cluster, FaultKind, NodeRead, OnError, PlacedRead, Preemption, Read, Selector, Value, Verb,
        Verdict, View,
    },
};

/// n1 holds a, b and c of priority 1 to 3; n2 holds d.
fn mk_world() -> Arc<Cluster> {
    let pods = [
        mk_placed("a", "n1", 1, "1"),
        mk_placed("b", "n1", 2, "2"),
        mk_placed("c", "n1", 3, "4"),
        mk_placed("d", "n2", 1, "8"),
    ];
    mk_cluster(&[mk_node("n1", &[]), mk_node("n2", &[]), mk_node("n3", &[])], &pods)
}

/// A filter request brings the whole node.
fn learn(fixture: &Fixture, node: &serde_json::Value) {
    let nodes = [NodeObject::Json(bytes(node))];
    fixture.gateway.node_cache.resolve(&nodes, None, &Arc::default()).unwrap();
}

fn number(view: &View, read: Read<'_>) -> i64 {
    match view.read(read) {
        Ok(Value::Number(number)) => number,
        other => panic!("{read:?} is a number: {other:?}"),
    }
}

fn requested(view: &View, node: u32) -> i64 {
    number(view, Read::Node(node, NodeRead::Requested("cpu")))
}

/// A filter that has room for the pod's 2 CPUs on a node of 8.
fn mk_fits_cpu() -> FakePolicy {
    FakePolicy::default().filter_each(|view, node| {
        if requested(view, node) + 2000 <= 8000 { Verdict::Fits } else { unschedulable("too little cpu") }
    })
}

fn mk_fixture(policies: Vec<(&str, FakePolicy)>) -> Fixture {
    let members = policies.into_iter().map(|(name, policy)| mk_member(name, policy, |_| {})).collect();
    Fixture::new(members, Some(mk_world()))
}

#[test]
fn without_policies_the_request_comes_back() {
    let fixture = mk_fixture(vec![("scores", FakePolicy::default().score_each(|_, _| 1))]);
    let mut odd = mk_candidate("unheard-of", &["x", "y"]);
    odd.pdb_violations = 7;
    let outcome = fixture.preempt(&[odd, mk_candidate("n1", &[])]).unwrap();
    assert_eq!(kept(&outcome), [(0, vec!["x", "y"]), (1, vec![])]);
    assert_eq!(outcome.kept[0].pdb_violations, 7);
    assert!(outcome.dropped.is_empty());
}

#[test]
fn a_candidate_stays_only_if_the_filters_pass_it_with_its_victims_gone() {
    let fixture = mk_fixture(vec![("cpu", mk_fits_cpu())]);
    let table: [(&[&str], bool); 4] = [(&["c"], true), (&["a"], true), (&["b", "a"], true), (&[], false)];
    for (victims, stays) in table {
        let outcome = fixture.preempt(&[mk_candidate("n1", victims)]).unwrap();
        assert_eq!(!outcome.kept.is_empty(), stays, "{victims:?}");
    }
    let outcome = fixture.preempt(&[mk_candidate("n2", &[]), mk_candidate("n2", &["d"])]).unwrap();
    assert_eq!(kept(&outcome), [(1, vec!["d"])]);
    assert_eq!(dropped(&outcome), [(0, "cpu: too little cpu")]);
}

#[test]
fn what_eviction_does_not_cure_drops_the_candidate() {
    let fixture = mk_fixture(vec![("pool", mk_refusing(&["n1"], "wrong pool"))]);
    let outcome = fixture.preempt(&[mk_candidate("n1", &["a", "b", "c"]), mk_candidate("n2", &["d"])]).unwrap();
    assert_eq!(kept(&outcome), [(1, vec!["d"])]);
    assert_eq!(dropped(&outcome), [(0, "pool: wrong pool")]);
}

#[test]
fn every_read_agrees_that_the_victims_are_gone() {
    let checking = FakePolicy::default().filter_each(|view, node| {
        assert_eq!(number(view, Read::PlacedCount(node)), 1);
        assert_eq!(view.read(Read::Placed(node, 0, PlacedRead::Name)), Ok(Value::text("b")));
        assert!(view.read(Read::Placed(node, 1, PlacedRead::Name)).is_err());
        let labelled = Read::PlacedCountLabelled { node, namespace: "web", key: "app", value: "web" };
        assert_eq!(number(view, labelled), 1);
        assert_eq!(requested(view, node), 2000);
        assert_eq!(number(view, Read::CandidatesCount), 0);
        Verdict::Fits
    });
    let fixture = mk_fixture(vec![("p", checking)]);
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c", "a"])]).unwrap();
    assert_eq!(kept(&outcome), [(0, vec!["c", "a"])]);
}

#[test]
fn a_victim_named_twice_is_gone_once() {
    let fixture = mk_fixture(vec![(
        "p",
        FakePolicy::default().filter_each(|view, node| unschedulable(&requested(view, node).to_string())),
    )]);
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c", "c", "a"])]).unwrap();
    assert_eq!(dropped(&outcome), [(0, "p: 2000")]);
    let echoed = mk_fixture(vec![("p", FakePolicy::default().preempt_each(|_, _| Preemption::Keep))]);
    assert_eq!(kept(&echoed.preempt(&[mk_candidate("n1", &["c", "c", "a"])]).unwrap()), [(0, vec!["c", "a"])]);
}

#[test]
fn what_the_cluster_does_not_know_is_dropped() {
    let fixture = mk_fixture(vec![("cpu", mk_fits_cpu())]);
    let outcome = fixture
        .preempt(&[mk_candidate("n9", &["a"]), mk_candidate("n1", &["c", "e"]), mk_candidate("n1", &["c"])])
        .unwrap();
    assert_eq!(kept(&outcome), [(2, vec!["c"])]);
    assert_eq!(
        dropped(&outcome),
        [(0, "plimsoll: node not seen yet"), (1, "plimsoll: victim with the UID e not seen yet")]
    );
}

fn mk_full<'a>(node: &'a str, pods: &[serde_json::Value]) -> CandidateQuery<'a> {
    CandidateQuery { node: node.into(), victims: Victims::Pods(pods.iter().map(bytes).collect()), pdb_violations: 0 }
}

#[test]
fn full_victims_are_found_among_the_pods_of_the_cluster() {
    let fixture = mk_fixture(vec![("cpu", mk_fits_cpu())]);
    // The cluster has not seen the last one yet; it counts as placed until it is evicted.
    let victims = [mk_placed("c", "n1", 3, "4"), mk_placed("new", "n1", 1, "1")];
    assert_eq!(kept(&fixture.preempt(&[mk_full("n1", &victims)]).unwrap()), [(0, vec!["c", "new"])]);
    let outcome = fixture.preempt(&[mk_full("n2", &[mk_placed("new", "n2", 1, "1")])]).unwrap();
    assert_eq!(dropped(&outcome), [(0, "cpu: too little cpu")]);
}

#[test]
fn full_victims_are_all_that_is_known_without_a_cluster() {
    let seen = FakePolicy::default().preempt_each(|view, at| {
        assert_eq!(view.read(Read::Node(at, NodeRead::Requested("cpu"))), Ok(Value::Absent));
        assert_eq!(number(view, Read::PlacedCount(at)), 2);
        assert_eq!(view.read(Read::Candidate(at, CandidateRead::Victims)), Ok(Value::Indices(&[0, 1])));
        Preemption::Replace(vec![1])
    });
    let fixture = Fixture::new(vec![mk_member("p", seen, |_| {})], None);
    let victims = [mk_placed("x", "n1", 3, "4"), mk_placed("y", "n1", 1, "1")];
    let unseen = fixture.preempt(&[mk_full("n1", &victims)]).unwrap();
    assert_eq!(dropped(&unseen), [(0, "plimsoll: node not seen yet")]);
    learn(&fixture, &mk_node("n1", &[]));
    assert_eq!(kept(&fixture.preempt(&[mk_full("n1", &victims)]).unwrap()), [(0, vec!["y"])]);
}

#[test]
fn a_candidates_node_is_the_one_of_the_last_filter_request() {
    let by_pool = FakePolicy::default().filter_each(|view, node| {
        let fits = view.read(Read::Node(node, NodeRead::Label("pool"))) == Ok(Value::text("new"));
        if fits { Verdict::Fits } else { unschedulable("wrong pool") }
    });
    let fixture = mk_fixture(vec![("pool", by_pool)]);
    learn(&fixture, &mk_node("n1", &[("pool", "new")]));
    let full = fixture.preempt(&[mk_full("n1", &[mk_placed("c", "n1", 3, "4")])]).unwrap();
    assert_eq!(kept(&full), [(0, vec!["c"])]);
    let by_uid = fixture.preempt(&[mk_candidate("n1", &["c"])]).unwrap();
    assert_eq!(dropped(&by_uid), [(0, "pool: wrong pool")]);
}

#[test]
fn a_policy_keeps_drops_or_replaces() {
    let choosing = FakePolicy::default().preempt_each(|view, at| match name_of(view, at).as_str() {
        "n1" => Preemption::Replace(vec![0, 2, 1, 2, 0]),
        "n2" => Preemption::Reject("protected".into()),
        _ => Preemption::Keep,
    });
    let fixture = mk_fixture(vec![("guard", choosing)]);
    let outcome =
        fixture.preempt(&[mk_candidate("n2", &["d"]), mk_candidate("n1", &["a"]), mk_candidate("n3", &[])]).unwrap();
    assert_eq!(kept(&outcome), [(1, vec!["c", "b", "a"]), (2, vec![])]);
    assert_eq!(dropped(&outcome), [(0, "guard: protected")]);
}

#[test]
fn other_victims_are_put_to_the_filters_again() {
    let swap = FakePolicy::default().preempt_each(|view, at| match name_of(view, at).as_str() {
        "n1" => Preemption::Replace(vec![0]),
        _ => Preemption::Keep,
    });
    let needs_six = FakePolicy::default().filter_each(|view, node| {
        if requested(view, node) <= 3000 { Verdict::Fits } else { unschedulable("too little cpu") }
    });
    let fixture = mk_fixture(vec![("cpu", needs_six), ("swap", swap)]);
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c"]), mk_candidate("n2", &["d"])]).unwrap();
    assert_eq!(kept(&outcome), [(1, vec!["d"])]);
    assert_eq!(dropped(&outcome), [(0, "cpu: too little cpu")]);
    let calls: Vec<_> = fixture.calls().into_iter().map(|call| (call.verb, call.outcome.unwrap())).collect();
    assert_eq!(calls, [(Verb::Filter, (2, 0)), (Verb::Preempt, (2, 0)), (Verb::Filter, (1, 1))]);
}

/// Allows no other pod on n1; `preempt` proposes these victims there, and keeps other candidates.
fn mk_alone(victims: &'static [u32]) -> FakePolicy {
    FakePolicy::default()
        .filter_each(|view, node| match (name_of(view, node).as_str(), number(view, Read::PlacedCount(node))) {
            ("n1", 1..) => unschedulable("taken"),
            _ => Verdict::Fits,
        })
        .preempt_each(move |view, at| match name_of(view, at).as_str() {
            "n1" if !victims.is_empty() => Preemption::Replace(victims.to_vec()),
            _ => Preemption::Keep,
        })
}

#[test]
fn a_policy_adds_the_victims_that_its_own_filter_demands() {
    let outcome = mk_fixture(vec![("alone", mk_alone(&[0, 1, 2]))]).preempt(&[mk_candidate("n1", &["c"])]).unwrap();
    assert_eq!(kept(&outcome), [(0, vec!["c", "b", "a"])]);
    // Others need not agree: a candidate that the filter still refuses is dropped, replaced or not.
    for victims in [&[][..], &[0, 1]] {
        let outcome = mk_fixture(vec![("alone", mk_alone(victims))]).preempt(&[mk_candidate("n1", &["c"])]).unwrap();
        assert_eq!(dropped(&outcome), [(0, "alone: taken")], "{victims:?}");
    }
}

#[test]
fn the_filter_of_a_policy_waits_for_its_own_preempt_alone() {
    let policies = vec![("1st", mk_alone(&[0, 1, 2])), ("2nd", mk_alone(&[0, 1, 2])), ("cpu", mk_fits_cpu())];
    let fixture = mk_fixture(policies);
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c"]), mk_candidate("n2", &["d"])]).unwrap();
    assert_eq!(kept(&outcome), [(0, vec!["c", "b", "a"]), (1, vec!["d"])]);
    let calls: Vec<_> = fixture.calls().into_iter().map(|call| (call.policy, call.verb)).collect();
    let asked =
        |policy: &str| calls.iter().filter(|(name, _)| name == policy).map(|(_, verb)| *verb).collect::<Vec<_>>();
    assert_eq!(asked("2nd"), [Verb::Preempt, Verb::Filter, Verb::Filter]);
    assert_eq!(asked("1st")[..2], [Verb::Preempt, Verb::Filter]);
    let refused = mk_fixture(vec![("alone", mk_alone(&[0, 1, 2])), ("pool", mk_refusing(&["n1"], "wrong pool"))]);
    assert_eq!(dropped(&refused.preempt(&[mk_candidate("n1", &["c"])]).unwrap()), [(0, "pool: wrong pool")]);
    assert!(refused.calls().iter().all(|call| call.policy == "pool"), "filters without preempt come first");
}

/// Pods of a group are evicted together: d of n2 is a victim for n1.
#[test]
fn a_candidate_is_judged_with_its_victims_on_other_nodes() {
    let fits_without = FakePolicy::default().filter_each(|view, node| {
        assert_eq!((requested(view, node), number(view, Read::PlacedCount(node))), (3000, 2));
        let selector = Selector { namespace: Some("web"), ..Selector::all() };
        assert_eq!(number(view, Read::ClusterCount(selector)), 2);
        Verdict::Fits
    });
    let guard = |protected: &'static str| {
        FakePolicy::default().preempt_each(move |view, at| {
            let Ok(Value::Indices(victims)) = view.read(Read::Candidate(at, CandidateRead::Victims)) else { panic!() };
            let name = |victim: &u32| view.read(Read::Placed(at, *victim, PlacedRead::Name));
            let is_protected = victims.iter().any(|victim| name(victim) == Ok(Value::text(protected)));
            if is_protected { Preemption::Reject("protected".into()) } else { Preemption::Keep }
        })
    };
    let replace =
        |victims: &'static [u32]| FakePolicy::default().preempt_each(move |_, _| Preemption::Replace(victims.to_vec()));
    let table = [
        (FakePolicy::default().score_each(|_, _| 1), true, false),
        (fits_without.function(), true, false),
        (guard("a"), true, false),
        (guard("d"), false, false),
        (replace(&[3, 2]), true, false),
        (replace(&[2]), true, true),
        (mk_alone(&[0, 1, 2, 3]), true, true),
        (mk_alone(&[]), false, false),
        (mk_refusing(&["n1"], "wrong pool"), false, false),
    ];
    for (row, (policy, stays, is_replaced)) in table.into_iter().enumerate() {
        let fixture = mk_fixture(vec![("p", policy)]);
        let full = mk_full("n1", &[mk_placed("c", "n1", 3, "4"), mk_placed("d", "n2", 1, "8")]);
        for candidate in [mk_candidate("n1", &["c", "d"]), full] {
            let outcome = fixture.preempt(&[candidate]).unwrap();
            let spanning: Vec<bool> = outcome.kept.iter().map(|kept| kept.spans_nodes).collect();
            assert_eq!((&spanning[..], outcome.has_replaced), (&[true][..usize::from(stays)], is_replaced), "{row}");
        }
    }
}

#[test]
fn an_ignored_fault_of_preempt_leaves_the_policys_filter_to_decide() {
    let failing = mk_alone(&[]).preempt(|_, _| Err(crate::model::Fault::new(FaultKind::Trap, "it fails")));
    let member = mk_member("alone", failing, |config| config.on_error = Some(OnError::Ignore));
    let fixture = Fixture::new(vec![member], Some(mk_world()));
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c"]), mk_candidate("n2", &["d"])]).unwrap();
    assert_eq!((kept(&outcome), dropped(&outcome)), (vec![(1, vec!["d"])], vec![(0, "alone: taken")]));
}

#[test]
fn the_next_policy_sees_the_replacement_and_what_still_stands() {
    let first = FakePolicy::default().preempt_each(|view, at| match name_of(view, at).as_str() {
        "n1" => Preemption::Replace(vec![1, 0]),
        _ => Preemption::Reject("no".into()),
    });
    let second = FakePolicy::default().preempt_each(|view, at| {
        assert_eq!(number(view, Read::CandidatesCount), 1);
        assert_eq!(number(view, Read::Candidate(at, CandidateRead::Node)), 0);
        assert_eq!(view.read(Read::Candidate(at, CandidateRead::Victims)), Ok(Value::Indices(&[1, 0])));
        assert_eq!(number(view, Read::Candidate(at, CandidateRead::PdbViolations)), 2);
        // The victims are still placed: only filters are asked as if they were gone.
        assert_eq!(number(view, Read::PlacedCount(at)), 3);
        Preemption::Keep
    });
    let fixture = mk_fixture(vec![("1st", first), ("2nd", second)]);
    let mut candidate = mk_candidate("n1", &["c"]);
    candidate.pdb_violations = 2;
    let outcome = fixture.preempt(&[mk_candidate("n2", &["d"]), candidate]).unwrap();
    assert_eq!(kept(&outcome), [(1, vec!["b", "a"])]);
    assert_eq!(outcome.kept[0].pdb_violations, 2);
}

#[test]
fn odd_numbers_of_violations_are_passed_on_and_read_within_range() {
    for (given, read) in [(-1, 0), (0, 0), (i64::from(u32::MAX), u32::MAX), (i64::MAX, u32::MAX)] {
        let reading = FakePolicy::default().preempt_each(move |view, at| {
            assert_eq!(number(view, Read::Candidate(at, CandidateRead::PdbViolations)), i64::from(read));
            Preemption::Keep
        });
        let mut candidate = mk_candidate("n1", &["c"]);
        candidate.pdb_violations = given;
        let outcome = mk_fixture(vec![("p", reading)]).preempt(&[candidate]).unwrap();
        assert_eq!(outcome.kept[0].pdb_violations, given);
    }
}

#[test]
fn an_ignored_fault_leaves_the_candidates_as_they_are() {
    let members = vec![
        mk_member("bad", mk_failing(FaultKind::Trap), |config| config.on_error = Some(OnError::Ignore)),
        mk_member("cpu", mk_fits_cpu(), |_| {}),
    ];
    let fixture = Fixture::new(members, Some(mk_world()));
    let outcome = fixture.preempt(&[mk_candidate("n1", &["c"]), mk_candidate("n2", &[])]).unwrap();
    assert_eq!(kept(&outcome), [(0, vec!["c"])]);
}

#[test]
fn a_victim_that_is_no_pod_is_an_error() {
    let candidate = CandidateQuery {
        node: "n1".into(),
        victims: Victims::Pods(vec![bytes::Bytes::from_static(b"[]")]),
        pdb_violations: 0,
    };
    assert!(mk_fixture(vec![]).preempt(std::slice::from_ref(&candidate)).is_err());
    assert!(mk_fixture(vec![("cpu", mk_fits_cpu())]).preempt(&[candidate]).is_err());
}
