use super::*;

const FILTER: Verb = Verb::Filter;

fn pod(uid: &str) -> Pod {
    let json = format!(r#"{{"metadata":{{"name":"p","uid":"{uid}"}}}}"#);
    Pod::from_json(json.into()).unwrap()
}

/// Counts a fault about a pod; true if it opened the circuit.
fn fail(circuit: &Circuit, uid: &str, now: Instant) -> bool {
    circuit.failed(FILTER, &pod(uid), &Fault::new(crate::model::FaultKind::Trap, uid), now)
}

/// A circuit after `faults` consecutive faults, the last of them about another pod.
fn after_faults(faults: usize, now: Instant) -> Circuit {
    let circuit = Circuit::default();
    (1..faults).for_each(|_| assert!(!fail(&circuit, "a", now)));
    fail(&circuit, "b", now);
    circuit
}

#[test]
fn five_faults_in_a_row_open_the_circuit_for_ten_seconds() {
    let start = Instant::now();
    assert!(!after_faults(4, start).is_open(FILTER, start));
    let circuit = after_faults(5, start);
    assert!(circuit.is_open(FILTER, start + Duration::from_millis(9_999)));
    assert!(!circuit.is_open(FILTER, start + OPEN_TIME));
}

/// kube-scheduler asks for scores between two filters.
#[test]
fn an_answer_to_one_verb_neither_closes_nor_confirms_another() {
    let now = Instant::now();
    let circuit = Circuit::default();
    for uid in ["a", "b", "c", "d", "e"] {
        circuit.succeeded(Verb::Score);
        assert_eq!(fail(&circuit, uid, now), uid == "e");
    }
    circuit.succeeded(Verb::Score);
    assert_eq!(circuit.open_verbs(now), Verbs::of(FILTER));
    assert_eq!((circuit.answered(), circuit.only_failed()), (Verbs::of(Verb::Score), Verbs::of(FILTER)));
    circuit.succeeded(FILTER);
    assert!(circuit.open_verbs(now).is_empty() && circuit.only_failed().is_empty());
}

/// Decision 69: otherwise one odd pod would stop a sound policy for all others.
#[test]
fn faults_about_one_pod_do_not_open_the_circuit() {
    let start = Instant::now();
    let circuit = Circuit::default();
    for _ in 0..20 {
        assert!(!fail(&circuit, "a", start));
    }
    assert!(!circuit.is_open(FILTER, start));
    assert!(fail(&circuit, "b", start), "so it is not the pod");
    let nameless = Circuit::default();
    for name in ["a", "a", "a", "a", "b"] {
        let pod = Pod::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
        let fault = Fault::new(crate::model::FaultKind::Trap, "");
        assert_eq!(nameless.failed(FILTER, &pod, &fault, start), name == "b");
    }
}

#[test]
fn an_answer_in_between_starts_the_count_again() {
    let now = Instant::now();
    let circuit = Circuit::default();
    for round in 0..20 {
        assert!(!fail(&circuit, &round.to_string(), now));
        if round % 4 == 3 {
            circuit.succeeded(FILTER);
        }
    }
}

#[test]
fn after_the_pause_one_fault_opens_it_again_and_one_answer_closes_it() {
    let start = Instant::now();
    let circuit = after_faults(5, start);
    let later = start + OPEN_TIME;
    assert!(fail(&circuit, "a", later) && circuit.is_open(FILTER, later));
    circuit.succeeded(FILTER);
    assert!(!circuit.is_open(FILTER, later));
    assert!(!fail(&circuit, "a", later) && !fail(&circuit, "b", later));
}

#[test]
fn a_verb_that_fails_from_the_start_about_two_pods_is_told_with_its_last_fault() {
    let now = Instant::now();
    let circuit = Circuit::default();
    circuit.succeeded(Verb::Score);
    for _ in 0..5 {
        fail(&circuit, "a", now);
    }
    assert_eq!(circuit.failed_from_start(), None, "the pod may be the cause");
    fail(&circuit, "b", now);
    assert_eq!(circuit.failed_from_start(), Some((FILTER, Fault::new(crate::model::FaultKind::Trap, "b"))));
    circuit.succeeded(FILTER);
    for number in 0..6 {
        fail(&circuit, &number.to_string(), now);
    }
    assert_eq!(circuit.failed_from_start(), None, "it has answered before");
}
