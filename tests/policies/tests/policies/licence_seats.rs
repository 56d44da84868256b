//! The SDK's example `licence_seats`, compiled: its answers are cached as long as the number of free seats does not matter.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use plimsoll_core::{
    CallOf, Cluster, FaultKind, Gateway, Member, Node, Nodes, Observer, Outcome, Pod, PolicyConfig, Query, Roster,
    SystemClock, Verb, Verdict, View,
};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load};

const SETTINGS: &str = r#"{"label":"licence","pool":"pool","seats":{"matlab":3}}"#;

/// Counts the nodes that the guest was asked about.
#[derive(Default)]
struct Evaluations(AtomicUsize);

impl Observer for Evaluations {
    fn called(&self, _: CallOf<'_>, outcome: Outcome<'_>, _: Duration) {
        if let Outcome::Answered { evaluated, .. } = outcome {
            self.0.fetch_add(evaluated, Ordering::Relaxed);
        }
    }

    fn circuit_opened(&self, member: &Member, _: Verb) {
        panic!("the circuit of {} is open", member.name);
    }
}

/// Nodes n0 to n3 in the pool `lab`, n4 and n5 in `office`, and as many licensed pods on n0.
fn cluster(holders: usize) -> Arc<Cluster> {
    let node = |number: usize| {
        let pool = if number < 4 { "lab" } else { "office" };
        let json = format!(r#"{{"metadata":{{"name":"n{number}","labels":{{"pool":"{pool}"}}}}}}"#);
        Node::from_json(json.into()).unwrap()
    };
    let pod = |number: usize| {
        let json = format!(
            r#"{{"metadata":{{"name":"p{number}","uid":"u{number}","labels":{{"licence":"matlab"}}}},"spec":{{"nodeName":"n0"}}}}"#
        );
        Pod::placed_from_json(json.as_bytes()).unwrap()
    };
    Arc::new(Cluster::from_objects((0..6).map(node).collect(), (0..holders).map(pod).collect()))
}

#[test]
fn an_answer_is_cached_until_the_last_seat_is_taken_and_after_it_is_given_back() {
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/licence_seats.wasm");
    let config = PolicyConfig { timeout: Duration::from_secs(30), ..PolicyConfig::default() };
    let member = Member { settings: SETTINGS.into(), ..Member::new("", "seats", config, load(&module)) };
    let observer = Arc::new(Evaluations::default());
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::clone(&observer) as _, Duration::from_mins(1));
    gateway.set_roster(Arc::new(Roster::of_root(vec![Arc::new(member)])));
    let pod = r#"{"metadata":{"name":"new","uid":"new","labels":{"licence":"matlab"}}}"#;
    let pod = Arc::new(Pod::from_json(pod.into()).unwrap());
    let names: Vec<Cow<'_, str>> = (0..6).map(|number| format!("n{number}").into()).collect();
    let ask = |holders: usize| {
        gateway.set_cluster(cluster(holders));
        let (nodes, received) = (Nodes::Names(&names), Instant::now());
        let query = Query { pod: Arc::clone(&pod), nodes, received, may_bind: true };
        let (outcome, after) = gateway.begin("").unwrap().filter(&query).unwrap();
        after.run();
        let refused: Vec<u32> = outcome.rejected.iter().map(|rejection| rejection.node).collect();
        (refused, observer.0.swap(0, Ordering::Relaxed))
    };
    let lab = || vec![0, 1, 2, 3];
    assert_eq!(ask(0), (vec![], 2), "one node of each pool");
    for holders in [1, 2] {
        assert_eq!(ask(holders), (vec![], 0), "{holders}");
    }
    assert_eq!(ask(3), (lab(), 1), "one node of the pool");
    for (holders, refused) in [(4, lab()), (9, lab()), (2, vec![]), (3, lab())] {
        assert_eq!(ask(holders), (refused, 0), "{holders}");
    }
}

/// Each attempt reads a label of its own, so that its table of 300,000 pods has to be made, which takes longer than the
/// policy has; on a busy machine the rest of a call may take longer, too.
#[test]
#[expect(clippy::disallowed_methods, reason = "an attempt on a busy machine counts only if the time was needed")]
fn the_first_read_of_a_total_is_not_charged_to_the_policy() {
    let policy = load(&workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/licence_seats.wasm"));
    let (cluster, timeout) = (cluster(300_000), Duration::from_millis(3));
    let is_answered = |attempt: u32| {
        let key = format!("licence-{attempt}");
        let pod = format!(r#"{{"metadata":{{"name":"new","uid":"new","labels":{{"{key}":"matlab"}}}}}}"#);
        let view = View::new(Arc::new(Pod::from_json(pod.into()).unwrap()), Arc::clone(&cluster), Arc::from([0]), 0);
        let settings = format!(r#"{{"label":"{key}","pool":"pool","seats":{{"matlab":3}}}}"#);
        let mut ask = ask(view, &settings);
        ask.limits.timeout = timeout;
        let began = Instant::now();
        let answer = policy.filter(&ask, &[0]);
        let took = began.elapsed();
        match answer {
            Ok(verdicts) => assert_eq!(verdicts, [Verdict::Fits]),
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::Timeout);
                return false;
            }
        }
        took > 2 * timeout
    };
    assert!((0..20).any(is_answered));
}
