use std::time::Duration;

use super::*;

const FILTER: Verb = Verb::Filter;

fn pod(uid: &str) -> Pod {
    let json = format!(r#"{{"metadata":{{"name":"p","uid":"{uid}"}}}}"#);
    Pod::from_json(json.into()).unwrap()
}

fn is_open(circuit: &Circuit, now: Instant) -> bool {
    circuit.open_verbs(now).has(FILTER)
}

fn is_paused_for(circuit: &Circuit, uid: &str, now: Instant) -> bool {
    circuit.pause(FILTER, &pod(uid), now) == Some(Pause::ThisPod)
}

/// A circuit after `faults` consecutive faults, the last of them about another pod.
fn after_faults(faults: usize, now: Instant) -> Circuit {
    let circuit = Circuit::default();
    (1..faults).for_each(|_| assert!(!circuit.failed(FILTER, &pod("a"), now)));
    circuit.failed(FILTER, &pod("b"), now);
    circuit
}

#[test]
fn five_faults_in_a_row_open_the_circuit_for_ten_seconds() {
    let start = Instant::now();
    assert!(!is_open(&after_faults(4, start), start));
    let circuit = after_faults(5, start);
    assert_eq!(circuit.pause(FILTER, &pod("c"), start), Some(Pause::AllPods));
    assert!(is_open(&circuit, start + Duration::from_millis(9_999)));
    assert!(!is_open(&circuit, start + OPEN_TIME));
}

/// kube-scheduler asks for scores between two filters.
#[test]
fn an_answer_to_one_verb_neither_closes_nor_confirms_another() {
    let now = Instant::now();
    let circuit = Circuit::default();
    circuit.succeeded(Verb::Score, &pod("a"), now);
    for uid in ["a", "b", "c", "d", "e"] {
        assert_eq!(circuit.failed(FILTER, &pod(uid), now), uid == "e");
        circuit.succeeded(Verb::Score, &pod(uid), now);
    }
    assert_eq!(circuit.open_verbs(now), Verbs::of(FILTER));
    assert_eq!(circuit.pause(Verb::Score, &pod("a"), now), None);
    assert_eq!((circuit.answered(), circuit.only_failed()), (Verbs::of(Verb::Score), Verbs::of(FILTER)));
    circuit.succeeded(FILTER, &pod("f"), now);
    assert!(circuit.open_verbs(now).is_empty() && circuit.only_failed().is_empty());
}

#[test]
fn faults_about_one_pod_close_out_that_pod_alone() {
    let start = Instant::now();
    let circuit = Circuit::default();
    for _ in 0..20 {
        assert!(!circuit.failed(FILTER, &pod("a"), start));
    }
    assert!(!is_open(&circuit, start) && is_paused_for(&circuit, "a", start));
    assert!(!is_paused_for(&circuit, "b", start));
    assert!(!is_paused_for(&circuit, "a", start + OPEN_TIME));
    assert!(circuit.failed(FILTER, &pod("b"), start), "so it is not the pod");
    let nameless = Circuit::default();
    for name in ["a", "a", "a", "a", "b"] {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        assert_eq!(nameless.failed(FILTER, &Pod::from_json(json.into()).unwrap(), start), name == "b");
    }
}

#[test]
fn answers_about_other_pods_neither_prevent_nor_end_the_pause_of_one() {
    let start = Instant::now();
    let circuit = Circuit::default();
    for _ in 0..FAULTS_TO_OPEN {
        assert!(!is_paused_for(&circuit, "a", start));
        assert!(!circuit.failed(FILTER, &pod("a"), start));
        circuit.succeeded(FILTER, &pod("b"), start);
    }
    assert!(is_paused_for(&circuit, "a", start) && circuit.pause(FILTER, &pod("b"), start).is_none());
    // After the pause it is tried once.
    let later = start + 2 * OPEN_TIME;
    circuit.succeeded(FILTER, &pod("b"), later);
    assert!(!is_paused_for(&circuit, "a", later));
    circuit.failed(FILTER, &pod("a"), later);
    assert!(is_paused_for(&circuit, "a", later));
    // An answer about it, or any answer after a minute, begins the count again.
    circuit.succeeded(FILTER, &pod("a"), later);
    assert!(!is_paused_for(&circuit, "a", later));
    (0..4).for_each(|_| assert!(!circuit.failed(FILTER, &pod("a"), later)));
    let much_later = later + Duration::from_mins(1);
    circuit.succeeded(FILTER, &pod("b"), much_later);
    circuit.failed(FILTER, &pod("a"), much_later);
    assert!(!is_paused_for(&circuit, "a", much_later));
}

#[test]
fn an_answer_in_between_starts_the_count_again() {
    let now = Instant::now();
    let circuit = Circuit::default();
    for round in 0..20 {
        assert!(!circuit.failed(FILTER, &pod(&round.to_string()), now));
        if round % 4 == 3 {
            circuit.succeeded(FILTER, &pod("good"), now);
        }
    }
    assert!(!is_paused_for(&circuit, "19", now));
}

#[test]
fn a_failed_call_is_kept_only_on_probation_and_only_before_the_verb_has_answered() {
    let (now, view) = (Instant::now(), Arc::new(View::empty(Arc::from("null"))));
    let fault = Fault::new(crate::FaultKind::Trap, "it fails");
    let fail = |circuit: &Circuit, uid: &str| {
        circuit.keep_failed(FILTER, &view, &fault);
        circuit.failed(FILTER, &pod(uid), now);
    };
    let circuit = Circuit::default();
    (0..5).for_each(|_| fail(&circuit, "a"));
    assert!(circuit.take_failed().is_none(), "nobody wanted to know");
    let circuit = Circuit::default();
    circuit.begin_probation();
    circuit.succeeded(Verb::Score, &pod("a"), now);
    (0..4).for_each(|_| fail(&circuit, "a"));
    assert!(circuit.take_failed().is_none(), "it may still recover");
    fail(&circuit, "a");
    let call = circuit.take_failed().unwrap();
    assert_eq!((call.verb(), call.fault(), call.is_of_one_pod()), (FILTER, &fault, true));
    fail(&circuit, "b");
    assert!(!circuit.take_failed().unwrap().is_of_one_pod());
    let circuit = Circuit::default();
    circuit.begin_probation();
    circuit.succeeded(FILTER, &pod("a"), now);
    (0..5).for_each(|_| fail(&circuit, "a"));
    assert!(circuit.take_failed().is_none() && circuit.has_answered(FILTER));
}

#[test]
fn after_the_pause_faults_about_two_pods_open_it_again_and_one_answer_closes_it() {
    let start = Instant::now();
    let circuit = after_faults(5, start);
    let later = start + OPEN_TIME;
    assert!(!circuit.failed(FILTER, &pod("a"), later));
    assert!(is_paused_for(&circuit, "a", later) && !is_open(&circuit, later));
    assert!(circuit.failed(FILTER, &pod("b"), later));
    assert!(is_open(&circuit, later));
    circuit.succeeded(FILTER, &pod("d"), later);
    assert!(!is_open(&circuit, later));
    assert!(!circuit.failed(FILTER, &pod("c"), later));
    assert!(!is_paused_for(&circuit, "c", later));
}
