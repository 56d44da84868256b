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

/// The scheduler was told its last word about the pod.
fn decide(calls: &BindCalls, name: &str) {
    calls.decided("", &mk_pod(name));
}

/// Makes a filter wait, and returns the number of bind calls that were missed.
fn wait(calls: &BindCalls) -> Option<usize> {
    calls.wait(Blocking::default()).map(|wait| wait.missed)
}

#[test]
fn a_wait_ends_when_the_last_of_the_pods_has_its_place() {
    static BEGUN: Barrier = Barrier::new(2);
    let calls = BindCalls::new(LONG);
    decide(&calls, "a");
    decide(&calls, "b");
    let blocking = Blocking::new(|work| {
        BEGUN.wait();
        work();
    });
    thread::scope(|scope| {
        let waiting = scope.spawn(|| calls.wait(blocking).unwrap());
        BEGUN.wait();
        let (a, b) = (query("a"), query("b"));
        drop(calls.arrived(&b));
        let call = calls.arrived(&a);
        assert!(call.pod.as_ref().unwrap().json().is_some(), "policies can be asked about it");
        assert!(!waiting.is_finished(), "its place is not reserved yet");
        drop(call);
        let wait = waiting.join().unwrap();
        assert!(wait.missed == 0 && wait.elapsed < LONG, "{wait:?}");
        assert!(calls.arrived(&a).pod.is_none(), "it has come");
    });
    assert_eq!(wait(&calls), None);
}

#[test]
fn a_bind_call_that_does_not_come_costs_one_wait() {
    let calls = BindCalls::new(SHORT);
    decide(&calls, "a");
    let missed = calls.wait(Blocking::default()).unwrap();
    assert!(missed.missed == 1 && missed.elapsed >= SHORT, "{missed:?}");
    assert_eq!(wait(&calls), None);
    assert!(calls.arrived(&query("a")).pod.is_some(), "it may still come");
}

#[test]
fn a_call_whose_place_takes_long_is_waited_for_once_and_not_missed() {
    let calls = BindCalls::new(SHORT);
    decide(&calls, "a");
    let query = query("a");
    let _call = calls.arrived(&query);
    assert_eq!((wait(&calls), wait(&calls)), (Some(0), None));
}

#[test]
fn a_group_whose_bind_calls_go_elsewhere_is_not_waited_for_until_one_comes() {
    let calls = BindCalls::new(SHORT);
    for number in 0..MAX_MISSED {
        decide(&calls, &format!("a-{number}"));
        assert_eq!(wait(&calls), Some(1));
    }
    decide(&calls, "b");
    assert_eq!(wait(&calls), None);
    calls.decided("other", &mk_pod("c"));
    assert_eq!(wait(&calls), Some(1), "another group has its own count");
    drop(calls.arrived(&query("b")));
    decide(&calls, "d");
    assert_eq!(wait(&calls), Some(1), "one has come");
}

#[test]
fn without_a_time_nobody_waits_and_pods_are_known_by_their_whole_name() {
    let calls = BindCalls::new(Duration::ZERO);
    decide(&calls, "a");
    assert_eq!(wait(&calls), None);
    let other = BindQuery { name: "b".into(), ..query("a") };
    assert!(calls.arrived(&other).pod.is_none());
    decide(&calls, "a");
    assert!(calls.arrived(&query("a")).pod.is_some());
}

#[test]
fn the_pods_that_are_kept_are_bounded() {
    let calls = BindCalls::new(LONG);
    for number in 0..10 * MAX_PODS {
        decide(&calls, &format!("s-{number}"));
    }
    assert_eq!(calls.table.lock().pods.len(), MAX_PODS);
    for number in 0..10 {
        let json = format!(r#"{{"metadata":{{"uid":"{number}"}},"spec":{{"x":"{}"}}}}"#, "x".repeat(MAX_BYTES / 3));
        calls.decided("", &Arc::new(Pod::from_json(Bytes::from(json)).unwrap()));
    }
    let table = calls.table.lock();
    assert!(table.pods.len() <= 3 && table.bytes() <= MAX_BYTES);
}
