use std::{borrow::Cow, sync::Barrier, thread};

use bytes::Bytes;

use super::*;

const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_millis(20);

fn mk_pod(name: &str) -> Arc<Pod> {
    let json = format!(r#"{{"metadata":{{"name":"{name}","namespace":"web","uid":"uid-{name}"}}}}"#);
    Arc::new(Pod::from_json(Bytes::from(json)).unwrap())
}

fn query(name: &str) -> BindQuery<'_> {
    let uid = Cow::Owned(format!("uid-{name}"));
    BindQuery { namespace: "web".into(), name: name.into(), uid, node: "n1".into(), received: Instant::now() }
}

fn scheduler() -> Sender {
    Sender::of("scheduler")
}

/// The scheduler was told its last word about the pod.
fn decide(calls: &BindCalls, name: &str) {
    calls.decided(scheduler(), "", &mk_pod(name), true);
}

/// Makes the filter wait for a pod of the scheduler, and returns the number of bind calls that were missed.
fn wait(calls: &BindCalls, name: &str) -> Option<usize> {
    calls.wait(scheduler(), &format!("uid-{name}"), Blocking::default()).map(|wait| wait.missed)
}

#[test]
fn a_wait_ends_when_the_last_of_the_bind_calls_has_come() {
    static BEGUN: Barrier = Barrier::new(2);
    let calls = BindCalls::new(LONG);
    decide(&calls, "a");
    decide(&calls, "b");
    let blocking = Blocking::new(|work| {
        BEGUN.wait();
        work();
    });
    thread::scope(|scope| {
        let waiting = scope.spawn(|| calls.wait(scheduler(), "uid-c", blocking).unwrap());
        BEGUN.wait();
        calls.arrived("uid-b");
        assert!(calls.find(scheduler(), &query("b")).is_none(), "it has come");
        assert!(!waiting.is_finished());
        calls.arrived("uid-a");
        let wait = waiting.join().unwrap();
        assert!(wait.missed == 0 && wait.elapsed < LONG, "{wait:?}");
    });
    assert_eq!(wait(&calls, "c"), None);
}

#[test]
fn a_bind_call_that_does_not_come_costs_one_wait() {
    let calls = BindCalls::new(SHORT);
    decide(&calls, "a");
    let missed = calls.wait(scheduler(), "uid-b", Blocking::default()).unwrap();
    assert!(missed.missed == 1 && missed.elapsed >= SHORT, "{missed:?}");
    assert_eq!(wait(&calls, "b"), None);
    assert!(calls.find(scheduler(), &query("a")).is_some(), "it may still come");
}

#[test]
fn nobody_waits_for_the_pod_itself_for_another_sender_or_for_an_early_word() {
    let calls = BindCalls::new(LONG);
    decide(&calls, "a");
    calls.decided(Sender::of("stranger"), "", &mk_pod("b"), true);
    calls.decided(scheduler(), "", &mk_pod("c"), false);
    assert_eq!(wait(&calls, "a"), None);
    calls.rejected(scheduler(), "uid-a");
    assert_eq!(wait(&calls, "z"), None);
    // A pod that is decided again is expected again.
    calls.decided(scheduler(), "", &mk_pod("c"), true);
    assert!(calls.table.lock().expects(scheduler(), "uid-z", u64::MAX));
}

#[test]
fn a_group_whose_bind_calls_go_elsewhere_is_not_waited_for_until_one_comes() {
    let calls = BindCalls::new(SHORT);
    for number in 0..MAX_MISSED {
        decide(&calls, &format!("a-{number}"));
        assert_eq!(wait(&calls, "z"), Some(1));
    }
    decide(&calls, "b");
    assert_eq!(wait(&calls, "z"), None);
    calls.decided(scheduler(), "other", &mk_pod("c"), true);
    assert_eq!(wait(&calls, "z"), Some(1), "another group has its own count");
    calls.arrived("uid-b");
    decide(&calls, "d");
    assert_eq!(wait(&calls, "z"), Some(1), "one has come");
}

#[test]
fn without_a_time_nobody_waits_and_pods_are_known() {
    let calls = BindCalls::new(Duration::ZERO);
    decide(&calls, "a");
    assert_eq!(wait(&calls, "b"), None);
    assert!(calls.find(scheduler(), &query("a")).is_some());
}

#[test]
fn a_strangers_flood_fills_nothing_and_takes_no_pod_of_another() {
    let calls = BindCalls::new(LONG);
    decide(&calls, "a");
    let stranger = Sender::of("stranger");
    for number in 0..10 * MAX_PODS {
        calls.decided(stranger, &format!("group-{number}"), &mk_pod(&format!("s-{number}")), true);
    }
    let huge = format!(r#"{{"metadata":{{"uid":"h"}},"spec":{{"x":"{}"}}}}"#, "x".repeat(MAX_BYTES / 3));
    let huge = Arc::new(Pod::from_json(Bytes::from(huge)).unwrap());
    for _ in 0..10 {
        calls.decided(stranger, "group-0", &huge, true);
    }
    let table = calls.table.lock();
    let own = table.senders.iter().find(|own| own.sender == stranger).unwrap();
    assert!(own.pods.len() <= MAX_PODS && own.bytes <= MAX_BYTES && own.groups.len() <= MAX_GROUPS);
    assert_eq!(own.bytes, own.pods.iter().map(|pod| pod.bytes).sum::<usize>());
    drop(table);
    assert!(calls.find(scheduler(), &query("a")).is_some());
    for number in 0..10 * MAX_SENDERS {
        calls.decided(Sender::of(&number.to_string()), "", &mk_pod("x"), true);
    }
    assert_eq!(calls.table.lock().senders.len(), MAX_SENDERS);
}

#[test]
fn a_pod_is_taken_as_its_own_sender_showed_it_and_by_its_whole_name() {
    let calls = BindCalls::new(LONG);
    let forged = r#"{"metadata":{"name":"a","namespace":"web","uid":"uid-a","labels":{"app":"forged"}}}"#;
    let forged = Arc::new(Pod::from_json(Bytes::from(forged)).unwrap());
    decide(&calls, "a");
    calls.decided(Sender::of("stranger"), "", &forged, true);
    let find = |sender| calls.find(sender, &query("a")).unwrap();
    assert_eq!(find(scheduler()).labels().get("app"), None);
    assert_eq!(find(Sender::of("stranger")).labels().get("app"), Some("forged"));
    let other = BindQuery { name: "b".into(), ..query("a") };
    assert!(calls.find(scheduler(), &other).is_none());
    assert!(calls.find(scheduler(), &query("b")).is_none());
}
