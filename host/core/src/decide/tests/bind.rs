//! bind: one write for a pod, by the policies' answers about the newest state.

mod api;
mod devices;
mod limits;
mod nominated;
mod outrun;

use std::{
    borrow::Cow,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::json;

use self::api::{Desk, End, just_in_time, mk_waiting};
use super::fixture::{FakePolicy, Fixture, REQUEST_TIMEOUT, mk_cluster, mk_failing, mk_member, mk_placed};
use crate::{
    decide::{BindOutcome, DecideError, Member, Unbound},
    model::{
        BindError, BindMetadata, BindQuery, Clock, FaultKind, Leader, MAX_ANNOTATION_BYTES, MetadataEntry, Mode,
        NotBound, OnError, PlacedRead, Read, Value, Verb, View,
    },
};

/// A policy that gives every pod this annotation.
fn mk_writing(name: &str, key: &'static str, value: &'static str) -> Arc<Member> {
    mk_member(name, writes(key, value), |_| {})
}

fn writes(key: &'static str, value: &'static str) -> FakePolicy {
    FakePolicy::default().bind(move |_, _| Ok(Ok(vec![MetadataEntry::new(key, value)])))
}

fn refuses(reason: &'static str) -> FakePolicy {
    FakePolicy::default().bind(move |_, _| Ok(Err(reason.to_owned())))
}

/// A policy that writes the names of the pods that it sees on the node.
fn looks_around() -> FakePolicy {
    FakePolicy::default().bind(|ask, node| Ok(Ok(vec![MetadataEntry::new("e.com/seen", placed(&ask.view, node))])))
}

fn placed(view: &View, node: u32) -> String {
    let Ok(Value::Number(count)) = view.read(Read::PlacedCount(node)) else { panic!("a count is a number") };
    let name = |pod| match view.read(Read::Placed(node, pod as u32, PlacedRead::Name)) {
        Ok(Value::Text(name)) => name.into_owned(),
        other => panic!("a name is text: {other:?}"),
    };
    (0..count).map(name).collect::<Vec<_>>().join(" ")
}

fn unbound(error: &DecideError) -> &Unbound {
    match error {
        DecideError::Unbound(unbound) => unbound,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pod_gets_its_node_and_every_policys_annotations_in_one_write() {
    let members =
        vec![mk_writing("a", "e.com/a", "1"), mk_writing("b", "e.com/b", "2"), mk_writing("c", "e.com/a", "1")];
    let desk = Desk::new(members, vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n2"), Ok(BindOutcome::Bound));
    let writes = desk.api.writes();
    let [binding] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!((&*binding.namespace, &*binding.name, &*binding.uid, &*binding.node), ("ml", "p", "uid-p", "n2"));
    let annotations: Vec<_> = binding.annotations.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(annotations, [("e.com/a", "1"), ("e.com/b", "2")]);
    assert_eq!(desk.fixture.asked(), ["a", "b", "c"]);
    assert_eq!(desk.fixture.bound(), [Ok(BindOutcome::Bound)]);
}

#[test]
fn a_pod_that_no_policy_matches_is_bound_all_the_same() {
    let elsewhere = mk_member("a", refuses("never"), |config| config.matches.namespaces = Some(vec!["web".into()]));
    let filters = mk_member("b", FakePolicy::default().filter_each(|_, _| crate::model::Verdict::Fits), |_| {});
    let off = mk_member("c", refuses("never"), |config| config.mode = Mode::Off);
    let desk = Desk::new(vec![elsewhere, filters, off], vec![mk_waiting("p")]);
    // Not even the node must be known.
    assert_eq!(desk.bind("p", "n9"), Ok(BindOutcome::Bound));
    assert!(desk.api.writes()[0].annotations.is_empty());
    assert!(desk.fixture.asked().is_empty());
}

#[test]
fn a_pod_that_is_bound_there_is_a_success_without_a_write() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::AlreadyBound));
    assert_eq!(desk.api.writes().len(), 1);
    assert_eq!(desk.fixture.asked(), ["a"]);
}

#[test]
fn a_pod_that_is_not_the_one_that_was_scheduled_is_an_error_that_says_so() {
    let desk = Desk::new(vec![], vec![mk_waiting("p"), mk_waiting("q"), mk_waiting("r")]);
    desk.bind("p", "n1").unwrap();
    desk.api.change("q", |pod| pod["metadata"]["uid"] = json!("another"));
    desk.api.delete("r");
    let text = |name| desk.bind(name, "n2").unwrap_err().to_string();
    assert_eq!(text("p"), "pod ml/p is already bound to node n1");
    assert_eq!(text("q"), "pod ml/q has the UID another, expected uid-q: it was deleted and made again");
    assert_eq!(text("r"), "pod ml/r: there is no such pod");
    assert_eq!(desk.api.writes().len(), 1);
}

#[test]
fn a_refusal_is_the_error_and_nothing_is_written() {
    let refusing = mk_member("gpu", refuses("no GPU of the node has\nenough memory left"), |_| {});
    let desk = Desk::new(
        vec![mk_writing("a", "e.com/a", "1"), refusing, mk_writing("z", "e.com/z", "1")],
        vec![mk_waiting("p")],
    );
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "gpu: no GPU of the node has enough memory left");
    assert!(desk.api.writes().is_empty());
    assert_eq!(desk.fixture.asked(), ["a", "gpu"]);
    assert_eq!(desk.fixture.bound(), [Err(error)]);
}

#[test]
fn policies_that_disagree_about_a_key_are_named_with_it() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/k", "1"), mk_writing("b", "e.com/k", "2")], vec![mk_waiting("p")]);
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "policies a and b give the annotation e.com/k different values");
    assert!(desk.api.writes().is_empty());
}

#[test]
fn a_fault_fails_the_bind_unless_the_policy_may_be_left_out() {
    let failing = |on_error| mk_member("a", mk_failing(FaultKind::Trap), |config| config.on_error = on_error);
    for on_error in [None, Some(OnError::Fail)] {
        let desk = Desk::new(vec![failing(on_error)], vec![mk_waiting("p")]);
        assert_eq!(desk.bind("p", "n1").unwrap_err().to_string(), "policy a failed to bind: trap: it fails");
        assert!(desk.api.writes().is_empty());
    }
    let desk = Desk::new(vec![failing(Some(OnError::Ignore)), mk_writing("b", "e.com/b", "1")], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.api.annotation("p", "e.com/b").as_deref(), Some("1"));
}

#[test]
fn an_answer_outside_the_contract_is_a_fault() {
    let long = "r".repeat(crate::model::MAX_REASON_BYTES + 1).leak();
    for policy in [writes("not a key", "1"), writes("kubernetes.io/a", "1"), refuses(long)] {
        let desk = Desk::new(vec![mk_member("a", policy, |_| {})], vec![mk_waiting("p")]);
        let error = desk.bind("p", "n1").unwrap_err();
        assert!(matches!(&error, DecideError::Policy { fault, .. } if fault.kind == FaultKind::Output), "{error}");
        assert!(desk.api.writes().is_empty());
    }
}

#[test]
fn what_a_pod_carries_in_all_is_bounded() {
    let own = |size: usize| json!({"own": "v".repeat(size - 3), "e.com/k": ""});
    let (policy, room) = (|| vec![mk_writing("a", "e.com/k", "1")], MAX_ANNOTATION_BYTES - 8);
    let desk = Desk::new(policy(), vec![mk_waiting("p"), mk_waiting("q")]);
    desk.api.change("p", |pod| pod["metadata"]["annotations"] = own(room));
    desk.api.change("q", |pod| pod["metadata"]["annotations"] = own(room + 1));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    let error = desk.bind("q", "n1").unwrap_err();
    assert_eq!(error.to_string(), "pod ml/q would have annotations of 262145 bytes; Kubernetes allows 262144");
}

#[test]
fn each_pod_sees_those_that_were_bound_before_it() {
    let desk = Desk::new(vec![mk_member("a", looks_around(), |_| {})], ["p", "q", "r"].map(mk_waiting).into());
    for pod in ["p", "q", "r"] {
        desk.bind(pod, "n1").unwrap();
    }
    let seen = |pod| desk.api.annotation(pod, "e.com/seen").unwrap();
    assert_eq!([seen("p"), seen("q"), seen("r")], ["", "p", "p q"]);
}

#[test]
fn a_bind_whose_end_nobody_knows_keeps_its_place_and_does_not_stand_in_its_own_way() {
    let desk = Desk::new(vec![mk_member("a", looks_around(), |_| {})], ["p", "q"].map(mk_waiting).into());
    desk.api.next_write(End::IsLost);
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "pod ml/p: the API server did not answer in time: no answer");
    let seen_by = |pod: &str| {
        desk.bind(pod, "n1").unwrap();
        desk.api.annotation(pod, "e.com/seen").unwrap()
    };
    assert_eq!(seen_by("q"), "p");
    assert_eq!(seen_by("p"), "q");
}

#[test]
fn a_bind_that_happened_without_an_answer_is_a_success_when_it_is_asked_again() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    desk.api.next_write(End::IsSilent);
    desk.bind("p", "n1").unwrap_err();
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::AlreadyBound));
    assert_eq!(desk.api.writes().len(), 1);
}

#[test]
fn whoever_was_quicker_is_looked_at_before_the_bind_fails() {
    let conflict = || End::Fails(BindError::Conflict("already assigned".to_owned()));
    let bound_meanwhile = |node: Option<&'static str>| {
        let slow = FakePolicy::default();
        let desk = Arc::new(std::sync::OnceLock::<Desk>::new());
        let other = Arc::clone(&desk);
        // Between the read and the write, another replica writes.
        let slow = slow.bind(move |_, _| {
            if let (Some(desk), Some(node)) = (other.get(), node) {
                desk.api.change("p", |pod| pod["spec"]["nodeName"] = json!(node));
            }
            Ok(Ok(vec![]))
        });
        desk.get_or_init(|| Desk::new(vec![mk_member("a", slow, |_| {})], vec![mk_waiting("p")]));
        let desk = desk.get().unwrap();
        desk.api.next_write(conflict());
        desk.bind("p", "n1").map_err(|error| error.to_string())
    };
    assert_eq!(bound_meanwhile(Some("n1")), Ok(BindOutcome::AlreadyBound));
    assert_eq!(bound_meanwhile(Some("n2")), Err("pod ml/p is already bound to node n2".to_owned()));
    let refused = "pod ml/p: the API server refuses the binding: already assigned";
    assert_eq!(bound_meanwhile(None), Err(refused.to_owned()));
}

#[test]
fn only_the_replica_whose_turn_it_is_binds() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    desk.api.set_leader(Leader::Peer("http://10.0.0.2:8888".into()));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Forward("http://10.0.0.2:8888".into())));
    desk.api.set_leader(Leader::Nobody("the lease is free".to_owned()));
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "no replica of plimsoll binds now: the lease is free");
    desk.api.set_leader(Leader::ThisReplica);
    desk.api.next_write(End::Fails(BindError::NotLeader("the lease ran out".to_owned())));
    assert_eq!(desk.bind("p", "n1").unwrap_err().to_string(), "pod ml/p: the lease ran out");
    assert_eq!(desk.api.node_of("p"), None);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
}

#[test]
fn without_an_api_server_the_error_says_what_is_missing() {
    let fixture = Fixture::of([mk_writing("a", "e.com/a", "1")]);
    let received = fixture.query(crate::decide::Nodes::Names(&[])).received;
    let query = BindQuery { namespace: "ml".into(), name: "p".into(), uid: "u".into(), node: "n1".into(), received };
    let error = fixture.gateway.bind("", &query).unwrap_err();
    assert_eq!(unbound(&error), &Unbound::NoBinder);
    assert!(error.to_string().contains("--kubeconfig"), "{error}");
    assert_eq!(fixture.gateway.bind("gpu", &query).unwrap_err(), DecideError::UnknownGroup("gpu".to_owned()));
}

#[test]
fn a_node_that_policies_cannot_be_asked_about_is_not_bound_to() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n9").unwrap_err().to_string(), "plimsoll: node not seen yet: n9");
    let shadow = mk_member("a", writes("e.com/a", "1"), |config| config.mode = Mode::Shadow);
    let desk = Desk::new(vec![shadow], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n9"), Ok(BindOutcome::Bound));
}

#[test]
fn a_policy_in_shadow_is_asked_about_the_same_state_and_never_obeyed() {
    let shadow = mk_member("s", refuses("never"), |config| config.mode = Mode::Shadow);
    let desk = Desk::new(vec![shadow, mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    let calls = desk.fixture.calls();
    let told: Vec<_> = calls.iter().map(|call| (call.policy.as_str(), call.outcome)).collect();
    assert_eq!(told, [("a", Ok((1, 0))), ("s", Ok((1, 1)))]);
}

#[test]
fn nothing_is_written_once_the_time_is_over() {
    let desk = Arc::new(std::sync::OnceLock::<Desk>::new());
    let other = Arc::clone(&desk);
    let slow = FakePolicy::default().bind(move |_, _| {
        if let Some(desk) = other.get() {
            desk.fixture.clock.advance(REQUEST_TIMEOUT);
        }
        Ok(Ok(vec![]))
    });
    desk.get_or_init(|| Desk::new(vec![mk_member("a", slow, |_| {})], vec![mk_waiting("p")]));
    let desk = desk.get().unwrap();
    assert_eq!(unbound(&desk.bind("p", "n1").unwrap_err()), &Unbound::OutOfTime);
    assert!(desk.api.writes().is_empty());
}

#[test]
fn a_slow_policy_stops_no_other_bind_of_its_node_or_of_others() {
    let gate = Arc::new((Mutex::new(true), Condvar::new(), AtomicUsize::new(0)));
    let inside = Arc::clone(&gate);
    let slow = FakePolicy::default().bind(move |_, _| {
        if inside.2.fetch_add(1, Ordering::SeqCst) == 0 {
            drop(inside.1.wait_while(inside.0.lock().unwrap(), |is_closed| *is_closed).unwrap());
        }
        Ok(Ok(vec![]))
    });
    let desk = Desk::new(vec![mk_member("slow", slow, |_| {})], ["p", "q", "r"].map(mk_waiting).into());
    thread::scope(|scope| {
        let first = scope.spawn(|| desk.bind("p", "n1"));
        while gate.2.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        assert_eq!(desk.bind("q", "n2"), Ok(BindOutcome::Bound));
        assert_eq!(desk.bind("r", "n1"), Ok(BindOutcome::Bound));
        *gate.0.lock().unwrap() = false;
        gate.1.notify_all();
        assert_eq!(first.join().unwrap(), Ok(BindOutcome::Bound));
    });
}

#[test]
fn a_bind_without_an_answer_holds_its_place_and_its_pod_and_not_its_node() {
    let desk = Desk::new(vec![mk_member("a", looks_around(), |_| {})], ["p", "q"].map(mk_waiting).into());
    desk.api.lag(true);
    desk.api.close(Some("n1"));
    thread::scope(|scope| {
        let first = scope.spawn(|| desk.bind("p", "n1"));
        desk.api.until_one_waits();
        // The scheduler tries the pod elsewhere.
        let error = desk.bind("p", "n2").unwrap_err();
        assert_eq!(unbound(&error), &Unbound::PodBusy { pod: "ml/p".to_owned(), node: "n1".to_owned() });
        assert!(error.to_string().contains("may yet be bound to node n1 by an earlier request"), "{error}");
        let second = scope.spawn(|| desk.bind("q", "n1"));
        desk.api.until_waiting(2);
        desk.api.close(None);
        assert_eq!((first.join().unwrap(), second.join().unwrap()), (Ok(BindOutcome::Bound), Ok(BindOutcome::Bound)));
    });
    assert_eq!(desk.api.annotation("q", "e.com/seen").as_deref(), Some("p"));
    assert_eq!(desk.bind("p", "n2").unwrap_err().to_string(), "pod ml/p is already bound to node n1");
}

#[test]
fn policies_are_asked_again_about_a_node_that_changed_while_they_were_asked() {
    let desk = Desk::new(vec![mk_member("a", looks_around(), |_| {})], vec![mk_waiting("p")]);
    let gateway = Arc::clone(&desk.fixture.gateway);
    let nodes = [super::fixture::mk_node("n1", &[])];
    desk.api.before_reserve(move || gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("other", "n1", 0, "1")])));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.api.annotation("p", "e.com/seen").as_deref(), Some("other"));
    assert_eq!(desk.fixture.asked(), ["a", "a"]);
    assert_eq!(desk.api.writes().len(), 1);
}

#[test]
fn a_node_that_changes_each_time_policies_have_read_it_is_an_error_that_can_be_retried() {
    let desk = Arc::new(std::sync::OnceLock::<Desk>::new());
    let other = Arc::clone(&desk);
    let counts = AtomicUsize::new(0);
    let restless = FakePolicy::default().bind(move |ask, node| {
        placed(&ask.view, node);
        let uid = format!("u{}", counts.fetch_add(1, Ordering::SeqCst));
        let nodes = [super::fixture::mk_node("n1", &[])];
        let cluster = mk_cluster(&nodes, &[mk_placed(&uid, "n1", 0, "1")]);
        other.get().unwrap().fixture.gateway.set_cluster(cluster);
        Ok(Ok(vec![]))
    });
    desk.get_or_init(|| Desk::new(vec![mk_member("a", restless, |_| {})], vec![mk_waiting("p")]));
    let error = desk.get().unwrap().bind("p", "n1").unwrap_err();
    assert_eq!(unbound(&error), &Unbound::Restless("n1".to_owned()));
    assert_eq!(desk.get().unwrap().fixture.asked_again(), 8);
    assert!(desk.get().unwrap().api.writes().is_empty());
}

#[test]
fn a_pod_that_is_asked_for_twice_at_once_is_written_once() {
    let desk = Desk::new(vec![mk_writing("a", "e.com/a", "1")], vec![mk_waiting("p")]);
    desk.api.close(Some("n1"));
    let first = thread::scope(|scope| {
        let first = scope.spawn(|| desk.bind("p", "n1"));
        desk.api.until_one_waits();
        let busy = Unbound::PodBusy { pod: "ml/p".to_owned(), node: "n1".to_owned() };
        assert_eq!(unbound(&desk.bind("p", "n1").unwrap_err()), &busy);
        desk.api.close(None);
        first.join().unwrap()
    });
    assert_eq!((first, desk.bind("p", "n1")), (Ok(BindOutcome::Bound), Ok(BindOutcome::AlreadyBound)));
    assert_eq!(desk.api.writes().len(), 1);
}

/// The pod as the scheduler's filter request shows it; its bind call is expected.
fn filter(desk: &Desk, pod: &serde_json::Value) {
    let pod = Arc::new(crate::model::Pod::from_json(super::fixture::bytes(pod)).unwrap());
    let names = [Cow::Borrowed("n1")];
    let query = crate::decide::Query { pod, ..desk.fixture.query(crate::decide::Nodes::Names(&names)) };
    desk.fixture.gateway.filter("", &query).unwrap().1.run();
}

/// Writes how often it was asked and the pod's team, and counts the pods of the node when it filters.
fn notes_the_team() -> FakePolicy {
    let count = |view: &View, node: u32| {
        let _ = view.read(Read::PlacedCount(node));
        crate::model::Verdict::Fits
    };
    let policy = FakePolicy::default().filter_each(count).function().importing(&["placed.count"]);
    policy.bind(|ask, _| {
        let Ok(Value::Text(team)) = ask.view.read(Read::Pod(crate::model::PodRead::Label("team"))) else {
            panic!("a text")
        };
        Ok(Ok(vec![MetadataEntry::new("e.com/team", team)]))
    })
}

fn mk_of_team(team: &str) -> serde_json::Value {
    let mut pod = mk_waiting("p");
    pod["metadata"]["labels"] = json!({"team": team});
    pod
}

#[test]
fn a_pod_is_reserved_as_its_filter_showed_it_before_it_is_read() {
    let desk = Desk::new(vec![mk_member("a", notes_the_team(), |_| {})], vec![mk_of_team("x")]);
    filter(&desk, &mk_of_team("x"));
    let (api, reads) = (Arc::clone(&desk.api), Arc::<AtomicUsize>::default());
    let seen = Arc::clone(&reads);
    desk.api.before_reserve(move || seen.store(api.reads() + 1, Ordering::SeqCst));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!((reads.load(Ordering::SeqCst), desk.api.reads()), (1, 1), "it was read after it was reserved");
    assert_eq!(desk.fixture.asked_again(), 0);
}

#[test]
fn a_filter_whose_sidecar_says_that_it_counts_nothing_is_not_asked_again_at_bind() {
    for (counts, asked) in [(true, 1), (false, 0)] {
        let refuse = |view: &View, node: u32| {
            let _ = view.read(Read::PlacedCount(node));
            crate::model::Verdict::Unschedulable("full".into())
        };
        let filter = FakePolicy::default().filter_each(refuse).function().importing(&["placed.count"]);
        let desk = Desk::new(vec![mk_member("a", filter, |config| config.counts = counts)], vec![mk_waiting("p")]);
        assert_eq!(desk.bind("p", "n1").is_ok(), !counts);
        assert_eq!(desk.fixture.asked().len(), asked);
    }
}

#[test]
fn policies_are_asked_again_about_a_pod_that_is_not_as_its_filter_showed_it() {
    let desk = Desk::new(vec![mk_member("a", notes_the_team(), |_| {})], vec![mk_of_team("new")]);
    filter(&desk, &mk_of_team("old"));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.api.annotation("p", "e.com/team").as_deref(), Some("new"));
    assert_eq!(desk.api.writes().len(), 1);
    // It is bound there already, and its scheduler does not know.
    filter(&desk, &mk_of_team("old"));
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::AlreadyBound));
    filter(&desk, &mk_of_team("old"));
    assert_eq!(desk.bind("p", "n2").unwrap_err().to_string(), "pod ml/p is already bound to node n1");
    desk.api.delete_and_show("p");
    filter(&desk, &mk_of_team("old"));
    assert_eq!(desk.bind("p", "n1").unwrap_err().to_string(), "pod ml/p: there is no such pod");
    assert_eq!(desk.fixture.gateway.cluster().unwrap().pod_count(), 0, "its place is free again");
}

#[test]
fn a_bind_keeps_the_pods_that_the_watch_shows() {
    let desk = Desk::new(vec![mk_member("a", looks_around(), |_| {})], vec![mk_waiting("p")]);
    let nodes = [super::fixture::mk_node("n1", &[])];
    desk.fixture.gateway.set_cluster(mk_cluster(&nodes, &[mk_placed("old", "n1", 0, "1")]));
    desk.bind("p", "n1").unwrap();
    assert_eq!(desk.api.annotation("p", "e.com/seen").as_deref(), Some("old"));
    // The clock stands still here; the time is reported all the same.
    assert_eq!(desk.fixture.calls()[0].elapsed, Duration::ZERO);
}

/// A policy that gives every pod this label.
fn labels(key: &'static str, value: &'static str) -> FakePolicy {
    FakePolicy::default().bind_with(move |_, _| {
        Ok(Ok(BindMetadata { labels: vec![MetadataEntry::new(key, value)], ..BindMetadata::default() }))
    })
}

#[test]
fn a_pod_gets_labels_in_the_same_write_and_is_counted_by_them_at_once() {
    let members = vec![
        mk_member("a", labels("rack", "r1"), |_| {}),
        mk_writing("b", "e.com/b", "1"),
        mk_member("c", labels("rack", "r1"), |_| {}),
    ];
    let desk = Desk::new(members, vec![mk_waiting("p")]);
    assert_eq!(desk.bind("p", "n2"), Ok(BindOutcome::Bound));
    let binding = &desk.api.writes()[0];
    assert_eq!((binding.labels["rack"].as_ref(), binding.annotations["e.com/b"].as_ref()), ("r1", "1"));
    let cluster = desk.fixture.gateway.cluster().unwrap();
    let at = cluster.find("n2").unwrap();
    let view = View::new(Arc::default(), cluster, Arc::from([at]), 0);
    let racked = Read::PlacedCountLabelled { node: 0, namespace: "ml", key: "rack", value: "r1" };
    assert_eq!(view.read(racked), Ok(Value::Number(1)));
}

#[test]
fn a_label_that_the_pod_has_with_another_value_is_not_overwritten() {
    let mut pod = mk_waiting("p");
    pod["metadata"]["labels"] = json!({"app": "web"});
    let desk = Desk::new(vec![mk_member("a", labels("app", "db"), |_| {})], vec![pod.clone()]);
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "policy a gives the pod ml/p the label app, which it has already with another value");
    assert!(desk.api.writes().is_empty());
    let desk = Desk::new(vec![mk_member("a", labels("app", "web"), |_| {})], vec![pod]);
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    let members = vec![mk_member("a", labels("k", "1"), |_| {}), mk_member("b", labels("k", "2"), |_| {})];
    let desk = Desk::new(members, vec![mk_waiting("p")]);
    let error = desk.bind("p", "n1").unwrap_err();
    assert_eq!(error.to_string(), "policies a and b give the label k different values");
    let desk = Desk::new(vec![mk_member("a", labels("k", "a b"), |_| {})], vec![mk_waiting("p")]);
    let DecideError::Policy { fault, .. } = desk.bind("p", "n1").unwrap_err() else { panic!("a fault") };
    assert_eq!(fault.kind, FaultKind::Output);
}

/// Waits as long as another pod is on the node.
fn wants_the_node_alone(asked: Arc<AtomicUsize>) -> FakePolicy {
    FakePolicy::default().bind_with(move |ask, node| {
        asked.fetch_add(1, Ordering::Relaxed);
        let is_alone = ask.view.read(Read::PlacedCount(node)) == Ok(Value::Number(0));
        Ok(if is_alone { Ok(BindMetadata::default()) } else { Err(NotBound::Retry("not alone".to_owned())) })
    })
}

#[test]
fn a_policy_that_says_not_yet_is_asked_again_when_what_it_read_has_changed_and_not_before() {
    let asked = Arc::<AtomicUsize>::default();
    let member = mk_member("a", wants_the_node_alone(Arc::clone(&asked)), |_| {});
    let desk = Desk::new(vec![member], vec![mk_waiting("p"), mk_waiting("q"), mk_waiting("r")]);
    desk.bind("q", "n1").unwrap();
    let bound = thread::scope(|scope| {
        let waits = scope.spawn(|| desk.bind("p", "n1"));
        while asked.load(Ordering::Relaxed) < 2 {
            thread::yield_now();
        }
        // A change of another node is none to it, and its own node is free for others to ask about.
        desk.bind("r", "n2").unwrap();
        assert!(!waits.is_finished());
        desk.api.delete_and_show("q");
        waits.join().unwrap()
    });
    assert_eq!(bound, Ok(BindOutcome::Bound));
    // For q, for r, and twice for p.
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn a_policy_that_says_not_yet_to_the_end_is_the_error_in_time_to_be_told() {
    let asked = Arc::<AtomicUsize>::default();
    let member = mk_member("a", wants_the_node_alone(Arc::clone(&asked)), |_| {});
    let desk = Desk::new(vec![member], vec![mk_waiting("p"), mk_waiting("q")]);
    desk.bind("q", "n1").unwrap();
    let received = just_in_time(desk.fixture.clock.now(), REQUEST_TIMEOUT);
    let error = desk.bind_within("p", "n1", received).unwrap_err();
    assert!(matches!(unbound(&error), Unbound::Retry(_)) && unbound(&error).is_routine());
    assert!(error.to_string().starts_with("a: not alone (not yet"), "{error}");
    assert_eq!(desk.api.writes().len(), 1);
}

#[test]
fn five_faults_open_the_circuit_of_a_bind() {
    let desk =
        Desk::new(vec![mk_member("a", mk_failing(FaultKind::Trap), |_| {})], vec![mk_waiting("p"), mk_waiting("q")]);
    for pod in ["p", "p", "p", "p", "q"] {
        desk.bind(pod, "n1").unwrap_err();
    }
    assert_eq!(desk.fixture.opened(), ["a"]);
    let error = desk.bind("p", "n1").unwrap_err();
    assert!(
        matches!(error, DecideError::Policy { verb: Verb::Bind, fault, .. } if fault.kind == FaultKind::CircuitOpen)
    );
}
