//! Faults: the effect of each on the decision, deadlines, and circuits.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::fixture::*;
use crate::{
    decide::{DecideError, FAULTS_TO_OPEN, OPEN_TIME},
    model::{
        Clock, Fault, FaultKind, MAX_REASON_BYTES, MAX_SCORE, OnError, PolicyConfig, Preemption, Verb, Verdict, View,
    },
};

/// Asks a policy with this verb alone; the fault that fails the decision, if one does.
fn decide(verb: Verb, policy: FakePolicy, configure: impl FnOnce(&mut PolicyConfig)) -> Option<Fault> {
    let cluster = mk_cluster(&[mk_node("n1", &[]), mk_node("n2", &[])], &[mk_placed("u1", "n1", 0, "1")]);
    let fixture = Fixture::new(vec![mk_member("p", policy, configure)], Some(cluster));
    let result = match verb {
        Verb::Filter => fixture.filter(&["n1", "n2"]).map(|refused| assert_eq!(refused, Refused::new())),
        Verb::Preempt => fixture.preempt(&[mk_candidate("n1", &["u1"])]).map(|outcome| {
            assert_eq!(kept(&outcome), [(0, vec!["u1"])]);
        }),
        _ => fixture.prioritize(&["n1", "n2"]).map(|scores| assert_eq!(scores, [0, 0])),
    };
    match result {
        Ok(()) => None,
        Err(DecideError::Policy { policy, verb: asked, fault }) => {
            assert_eq!((policy.as_str(), asked), ("p", verb));
            Some(fault)
        }
        Err(other) => panic!("{other}"),
    }
}

fn mk_only(verb: Verb, kind: FaultKind) -> FakePolicy {
    let fault = move || Fault::new(kind, "it fails");
    match verb {
        Verb::Filter => FakePolicy::default().filter(move |_, _| Err(fault())),
        Verb::Score => FakePolicy::default().score(move |_, _| Err(fault())),
        Verb::Rank => FakePolicy::default().rank(move |_| Err(fault())),
        _ => FakePolicy::default().preempt(move |_, _| Err(fault())),
    }
}

#[test]
fn a_fault_fails_the_decision_or_is_ignored_as_the_verb_and_the_operator_say() {
    let table = [
        (Verb::Filter, OnError::Fail),
        (Verb::Preempt, OnError::Fail),
        (Verb::Score, OnError::Ignore),
        (Verb::Rank, OnError::Ignore),
    ];
    for (verb, default) in table {
        for (chosen, effective) in
            [(None, default), (Some(OnError::Fail), OnError::Fail), (Some(OnError::Ignore), OnError::Ignore)]
        {
            let fault = decide(verb, mk_only(verb, FaultKind::Trap), |config| config.on_error = chosen);
            let expected = (effective == OnError::Fail).then(|| Fault::new(FaultKind::Trap, "it fails"));
            assert_eq!(fault, expected, "{verb} {chosen:?}");
        }
    }
}

#[test]
fn every_kind_of_fault_is_told_by_its_name() {
    for kind in FaultKind::ALL {
        let fixture = Fixture::of([mk_member("p", mk_failing(kind), |_| {})]);
        let error = fixture.filter(&["n1"]).unwrap_err().to_string();
        // That of a rule begins with its place.
        let name = if kind == FaultKind::Rule { String::new() } else { format!("{kind}: ") };
        assert_eq!(error, format!("policy p failed to filter: {name}it fails"));
        assert_eq!(fixture.calls()[0].outcome, Err(kind));
    }
}

#[test]
fn an_answer_outside_the_contract_is_an_output_fault() {
    let fail = |config: &mut PolicyConfig| config.on_error = Some(OnError::Fail);
    let long = || "x".repeat(MAX_REASON_BYTES + 1);
    let table: Vec<(Verb, FakePolicy, &str)> = vec![
        (Verb::Filter, FakePolicy::default().filter(|_, _| Ok(vec![Verdict::Fits])), "1 answers for 2 nodes"),
        (Verb::Filter, FakePolicy::default().filter(|_, _| Ok(vec![Verdict::Fits; 3])), "3 answers for 2 nodes"),
        (Verb::Filter, FakePolicy::default().filter_each(move |_, _| unschedulable(&long())), "a reason of 1025 bytes"),
        (Verb::Filter, FakePolicy::default().filter_each(move |_, _| unresolvable(&long())), "a reason of 1025 bytes"),
        (Verb::Score, FakePolicy::default().score_each(|_, _| MAX_SCORE + 1), "a score of 101; at most 100"),
        (Verb::Score, FakePolicy::default().score(|_, _| Ok(vec![])), "0 answers for 2 nodes"),
        (Verb::Rank, FakePolicy::default().rank(|_| Ok(vec![0, 4_000_000_000])), "a score of 4000000000"),
        (Verb::Rank, FakePolicy::default().rank(|_| Ok(vec![1; 5])), "5 answers for 2 nodes"),
        (Verb::Preempt, FakePolicy::default().preempt(|_, _| Ok(vec![])), "0 answers for 1 nodes"),
        (
            Verb::Preempt,
            FakePolicy::default().preempt_each(|_, _| Preemption::Replace(vec![])),
            "a replacement without victims",
        ),
        (
            Verb::Preempt,
            FakePolicy::default().preempt_each(|_, _| Preemption::Replace(vec![0, 1])),
            "a replacement by placed pod 1 of a node that has 1",
        ),
        (
            Verb::Preempt,
            FakePolicy::default().preempt_each(move |_, _| Preemption::Reject(long().into())),
            "a reason of 1025 bytes",
        ),
    ];
    for (verb, policy, detail) in table {
        let fault = decide(verb, policy, fail).expect(detail);
        assert_eq!(fault.kind, FaultKind::Output, "{detail}");
        assert!(fault.detail.starts_with(detail), "{} is not {detail}", fault.detail);
    }
}

/// Nodes that a policy has more different reasons for than one call may have, if each has this many bytes.
fn mk_many(bytes: usize) -> Vec<String> {
    (0..=crate::model::MAX_REASONS_BYTES / bytes).map(|at| format!("n{at}")).collect()
}

/// A reason of this many bytes that begins like this.
fn padded(start: &str, bytes: usize) -> String {
    format!("{start} {}", "x".repeat(bytes - start.len() - 1))
}

#[test]
fn the_different_reasons_of_one_call_are_bounded_and_equal_ones_count_once() {
    let names = mk_many(MAX_REASON_BYTES);
    let nodes: Vec<_> = names.iter().map(|name| mk_node(name, &[])).collect();
    let (cluster, names) = (mk_cluster(&nodes, &[]), names.iter().map(String::as_str).collect::<Vec<_>>());
    let candidates: Vec<_> = names.iter().map(|name| mk_candidate(name, &[])).collect();
    let naming = |view: &View, node: u32| padded(&name_of(view, node), MAX_REASON_BYTES);
    let same = |view: &View, node: u32| padded(&name_of(view, node)[..1], MAX_REASON_BYTES);
    let fixture = |policy| Fixture::new(vec![mk_member("p", policy, |_| {})], Some(Arc::clone(&cluster)));
    let filter = |reason: fn(&View, u32) -> String| {
        FakePolicy::default().filter_each(move |view, node| unschedulable(&reason(view, node)))
    };
    let preempt = |reason: fn(&View, u32) -> String| {
        FakePolicy::default().preempt_each(move |view, node| Preemption::Reject(reason(view, node).into()))
    };
    // Answers that are cached, answers that are not, and candidates.
    let told = |reason: fn(&View, u32) -> String| {
        [
            fixture(filter(reason).function()).filter(&names).map(|outcome| outcome.len()),
            fixture(filter(reason)).filter(&names).map(|outcome| outcome.len()),
            fixture(preempt(reason)).preempt(&candidates).map(|outcome| outcome.dropped.len()),
        ]
    };
    assert_eq!(told(same), [Ok(names.len()), Ok(names.len()), Ok(names.len())]);
    for outcome in told(naming) {
        let Err(DecideError::Policy { fault, .. }) = outcome else { panic!("its reasons are too large: {outcome:?}") };
        assert_eq!(fault.kind, FaultKind::Output);
        assert!(fault.detail.starts_with("different reasons of more than 4 MiB in one call"), "{fault}");
    }
}

#[test]
fn a_panic_of_the_host_is_a_fault_of_that_policy_alone() {
    let panicking = FakePolicy::default().filter(|_, _| panic!("a bug"));
    let fixture = Fixture::of([
        mk_member("a", panicking, |config| config.on_error = Some(OnError::Ignore)),
        mk_member("b", mk_refusing(&["n2"], "no"), |_| {}),
    ]);
    assert_eq!(fixture.filter(&["n1", "n2"]).unwrap()["n2"].0, "b: no");
    assert_eq!(fixture.calls()[0].outcome, Err(FaultKind::Host));
}

#[test]
fn a_policy_has_its_own_time_and_memory() {
    let seen = Arc::new(Mutex::new(vec![]));
    let mk = |name: &str, timeout: Duration| {
        let record = Arc::clone(&seen);
        let policy = FakePolicy::default().filter(move |ask, nodes| {
            record.lock().unwrap().push((ask.policy.to_string(), ask.limits));
            Ok(vec![Verdict::Fits; nodes.len()])
        });
        mk_member(name, policy, move |config| (config.timeout, config.memory) = (timeout, 7 << 20))
    };
    let fixture = Fixture::of([
        mk("own", Duration::from_millis(70)),
        mk("request", Duration::from_mins(1)),
        mk("without end", Duration::MAX),
    ]);
    fixture.filter(&["n1"]).unwrap();
    let now = fixture.clock.now();
    let limits: Vec<_> = seen.lock().unwrap().iter().map(|(name, limits)| (name.clone(), limits.end(now))).collect();
    assert_eq!(limits[0], ("own".into(), now + Duration::from_millis(70)));
    assert_eq!(limits[1], ("request".into(), now + REQUEST_TIMEOUT));
    assert_eq!(limits[2], ("without end".into(), now + REQUEST_TIMEOUT));
    assert!(seen.lock().unwrap().iter().all(|(_, limits)| limits.memory == 7 << 20));
    // A call that waits for a permit has its own time after that, and no more of the request's.
    let limits = seen.lock().unwrap()[0].1;
    assert_eq!(limits.end(now + Duration::from_secs(1)), now + Duration::from_millis(1_070));
    assert_eq!(limits.end(now + Duration::from_hours(1)), now + REQUEST_TIMEOUT);
}

/// Policies that take this long each, of which the slow ones then report a timeout.
fn mk_slow(fixture_clock: &Arc<Mutex<Option<Arc<ManualClock>>>>, takes: Duration) -> FakePolicy {
    let clock = Arc::clone(fixture_clock);
    FakePolicy::default().filter(move |ask, nodes| {
        let clock = clock.lock().unwrap().clone().unwrap();
        let given = ask.limits.end(clock.now()).saturating_duration_since(clock.now());
        clock.advance(takes.min(given));
        if takes > given {
            return Err(Fault::new(FaultKind::Timeout, "too slow"));
        }
        Ok(vec![Verdict::Fits; nodes.len()])
    })
}

fn mk_slow_fixture(takes: &[(Duration, Duration)]) -> Fixture {
    let clock = Arc::new(Mutex::new(None));
    let members = takes.iter().enumerate().map(|(at, (takes, timeout))| {
        mk_member(&format!("p{at}"), mk_slow(&clock, *takes), |config| {
            (config.timeout, config.on_error) = (*timeout, Some(OnError::Ignore));
        })
    });
    let fixture = Fixture::of(members);
    *clock.lock().unwrap() = Some(Arc::clone(&fixture.clock));
    fixture
}

#[test]
fn a_policy_gets_what_is_left_of_the_request_and_none_when_nothing_is() {
    let seconds = Duration::from_secs;
    let fixture = mk_slow_fixture(&[(seconds(3), seconds(3)), (seconds(2), seconds(2)), (seconds(0), seconds(1))]);
    fixture.filter(&["n1"]).unwrap();
    let calls = fixture.calls();
    assert_eq!((calls[0].outcome, calls[0].elapsed), (Ok((1, 0)), seconds(3)));
    assert_eq!((calls[1].outcome, calls[1].elapsed), (Err(FaultKind::Timeout), seconds(1)));
    assert_eq!((calls[2].outcome, calls[2].elapsed), (Err(FaultKind::Timeout), seconds(0)));
}

#[test]
fn a_policy_is_not_blamed_for_time_that_others_used_up() {
    let (millis, seconds) = (Duration::from_millis, Duration::from_secs);
    let fixture = mk_slow_fixture(&[(millis(3_900), seconds(4)), (millis(150), millis(300)), (millis(1), millis(100))]);
    for _ in 0..2 * FAULTS_TO_OPEN {
        fixture.filter(&["n1"]).unwrap();
    }
    let outcomes: Vec<_> = fixture.calls().into_iter().map(|call| call.outcome).collect();
    assert!(outcomes.chunks(3).all(|outcome| outcome[1..] == [Err(FaultKind::Timeout); 2]), "{outcomes:?}");
    assert_eq!(fixture.opened(), [""; 0]);
}

#[test]
fn a_policy_is_not_blamed_for_room_that_others_take() {
    let busy = |config: &mut PolicyConfig| config.on_error = Some(OnError::Ignore);
    let fixture = Fixture::of([mk_member("p", mk_failing(FaultKind::Busy), busy)]);
    for _ in 0..2 * FAULTS_TO_OPEN {
        fixture.filter(&["n1"]).unwrap();
    }
    assert!(fixture.calls().iter().all(|call| call.outcome == Err(FaultKind::Busy)));
    assert_eq!(fixture.opened(), [""; 0]);
}

#[test]
fn a_policy_that_uses_the_whole_request_up_is_blamed() {
    let fixture = mk_slow_fixture(&[(Duration::from_secs(9), Duration::from_secs(9))]);
    for number in 0..FAULTS_TO_OPEN {
        fixture.filter_about(&number.to_string(), &["n1"]).unwrap();
    }
    assert_eq!(fixture.opened(), ["p0"]);
}

#[test]
fn an_open_circuit_is_treated_as_on_error_says_and_closes_after_a_while() {
    for (on_error, fails) in [(OnError::Fail, true), (OnError::Ignore, false)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let policy = FakePolicy::default().filter(move |_, nodes| match count.fetch_add(1, Ordering::SeqCst) {
            0..5 => Err(Fault::new(FaultKind::Trap, "unreachable")),
            _ => Ok(vec![Verdict::Fits; nodes.len()]),
        });
        let fixture = Fixture::of([
            mk_member("bad", policy, |config| config.on_error = Some(on_error)),
            mk_member("good", mk_refusing(&["n2"], "no"), |_| {}),
        ]);
        for number in 0..FAULTS_TO_OPEN {
            assert_eq!(fixture.filter_about(&number.to_string(), &["n1", "n2"]).is_err(), fails);
        }
        assert_eq!(fixture.opened(), ["bad"]);
        fixture.calls();
        for _ in 0..3 {
            assert_eq!(fixture.filter(&["n1", "n2"]).is_err(), fails);
        }
        assert_eq!(fixture.calls()[0].outcome, Err(FaultKind::CircuitOpen));
        assert_eq!(asked.load(Ordering::SeqCst), 5);
        fixture.clock.advance(OPEN_TIME);
        assert_eq!(fixture.filter(&["n1", "n2"]).unwrap()["n2"].0, "good: no");
        assert_eq!(fixture.opened(), [""; 0]);
    }
}

#[test]
fn a_request_may_have_as_much_time_as_its_operator_says() {
    let fixture = Fixture::of([mk_member("p", mk_refusing(&["n1"], "no"), |_| {})]);
    let (clock, observer) = (Arc::clone(&fixture.clock), Arc::clone(&fixture.observer));
    let gateway = crate::gateway::Gateway::new(clock, observer, Duration::MAX);
    gateway.set_roster(fixture.gateway.roster());
    gateway.set_cluster(mk_three());
    let names = cows(&["n1"]);
    let (outcome, after) = gateway.filter("", &fixture.query(crate::decide::Nodes::Names(&names))).unwrap();
    assert_eq!(outcome.rejected.len(), 1);
    after.run();
}

#[test]
fn a_filter_that_counts_although_its_sidecar_says_no_is_at_fault_and_other_verbs_may_count() {
    let count = |view: &View| {
        let read = view.read(crate::model::Read::PlacedCount(0));
        read.map(drop).map_err(|error| Fault::new(FaultKind::Read, error.to_string()))
    };
    let says_no = |config: &mut PolicyConfig| config.counts = false;
    let filter =
        FakePolicy::default().filter(move |ask, nodes| count(&ask.view).map(|()| vec![Verdict::Fits; nodes.len()]));
    let fault = decide(Verb::Filter, filter, says_no).unwrap();
    assert!(fault.kind == FaultKind::Read && fault.detail.contains("`counts: false`"), "{fault}");
    let score = FakePolicy::default().score(move |ask, nodes| count(&ask.view).map(|()| vec![0; nodes.len()]));
    assert_eq!(decide(Verb::Score, score, says_no), None);
}

/// Otherwise a client with one odd pod would stop a sound policy for the pods of others, and keep it stopped.
#[test]
fn a_pod_that_a_policy_always_fails_about_stops_no_other_pod() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let policy = FakePolicy::default().filter(move |ask, nodes| {
        count.fetch_add(1, Ordering::SeqCst);
        if ask.view.pod().uid() == "odd" {
            return Err(Fault::new(FaultKind::Output, "a key too long"));
        }
        Ok(vec![Verdict::Fits; nodes.len()])
    });
    let fixture = Fixture::of([mk_member("p", policy, |_| {})]);
    for _ in 0..2 * FAULTS_TO_OPEN {
        fixture.filter_about("odd", &["n1"]).unwrap_err();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2 * FAULTS_TO_OPEN as usize, "it is asked each time");
    assert_eq!(fixture.opened(), [""; 0]);
    assert_eq!(fixture.filter_about("honest", &["n1"]), Ok(Refused::default()));
}

/// kube-scheduler asks for scores between two filters, and a filter that a broken score stopped would keep pods pending.
#[test]
fn a_circuit_is_that_of_one_verb() {
    for failing in [Verb::Filter, Verb::Score] {
        let fault =
            move |verb| (verb == failing).then(|| Fault::new(FaultKind::Trap, "unreachable")).map_or(Ok(()), Err);
        let policy = FakePolicy::default()
            .filter(move |_, nodes| fault(Verb::Filter).map(|()| vec![Verdict::Fits; nodes.len()]))
            .score(move |_, nodes| fault(Verb::Score).map(|()| vec![1; nodes.len()]));
        let fixture = Fixture::of([mk_member("p", policy, |config| config.on_error = Some(OnError::Ignore))]);
        for number in 0..2 * FAULTS_TO_OPEN {
            let uid = number.to_string();
            fixture.filter_about(&uid, &["n1"]).unwrap();
            fixture.prioritize_about(&uid, &["n1"]).unwrap();
        }
        assert_eq!(fixture.opened(), ["p"], "{failing}");
        let is_open = |call: &Call| call.outcome == Err(FaultKind::CircuitOpen);
        let stopped: Vec<Verb> = fixture.calls().iter().filter(|call| is_open(call)).map(|call| call.verb).collect();
        assert_eq!(stopped, [failing; FAULTS_TO_OPEN as usize], "the other verb is asked");
    }
}

#[test]
fn a_policy_has_its_last_fault_until_another_one_and_not_that_of_its_open_circuit() {
    let policy = FakePolicy::default().filter(|ask, nodes| match ask.view.pod().uid() {
        "good" => Ok(vec![Verdict::Fits; nodes.len()]),
        uid => Err(Fault::new(FaultKind::Panic, format!("about {uid}"))),
    });
    let member = mk_member("p", policy, |_| {});
    let fixture = Fixture::of([Arc::clone(&member)]);
    let last = || member.calls.last_fault().map(|last| (last.verb, last.pod, last.fault.to_string()));
    fixture.filter_about("good", &["n1"]).unwrap();
    assert_eq!(last(), None);
    for number in 0..FAULTS_TO_OPEN {
        fixture.filter_about(&number.to_string(), &["n1"]).unwrap_err();
        assert_eq!(last(), Some((Verb::Filter, "ml/new".to_owned(), format!("panic: about {number}"))));
    }
    let before = last();
    fixture.filter_about("good", &["n1"]).unwrap_err();
    fixture.clock.advance(OPEN_TIME);
    fixture.filter_about("good", &["n1"]).unwrap();
    assert_eq!(last(), before);
}
