//! The guest for rules in CEL that the repository has: it answers as its source does, and no rule takes more than its limits.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_cel::Cel;
use plimsoll_core::{Ask, Cluster, Fault, FaultKind, Limits, Node, Pod, Policy, Verdict, View};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load};
use plimsoll_policy::testing::Native;

/// The rules that are held to Kubernetes, too.
const RULES: &str = include_str!("../../../contract/cel/rules.txt");

fn module() -> PathBuf {
    workspace().join("plugin-sdk/cel/cel.wasm")
}

/// A pod, and a node with one pod.
fn view() -> View {
    view_of(1)
}

fn view_of(pods: usize) -> View {
    let text = "a".repeat(100_000);
    let pod = format!(
        r#"{{"metadata":{{"name":"web-0","namespace":"shop","labels":{{"app":"web","tier":"gold"}},"annotations":{{"driver":"535.104.05",
            "text":"{text}"}}}},"spec":{{"priority":7,"containers":[{{"image":"docker.io/web:1","resources":{{"requests":{{"cpu":"1500m"}}}}}}]}}}}"#
    );
    let node = r#"{"metadata":{"name":"n0","labels":{"ssd":"true","gpu-driver":"550.54.14","weight":"3"}},
        "status":{"allocatable":{"cpu":"8","memory":"32Gi","example.com/gpu":"4"},"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let placed = |number: usize| {
        let metadata =
            format!(r#"{{"name":"db-{number}","namespace":"shop","uid":"u{number}","labels":{{"app":"db"}}}}"#);
        let placed = format!(r#"{{"metadata":{metadata},"spec":{{"nodeName":"n0"}}}}"#);
        Pod::placed_from_json(placed.as_bytes()).unwrap()
    };
    let cluster = Cluster::from_objects(vec![Node::from_json(node.into()).unwrap()], (0..pods).map(placed).collect());
    View::new(Arc::new(Pod::from_json(pod.into()).unwrap()), Arc::new(cluster), Arc::from([0]), 1_780_000_000)
}

/// The settings of a policy that rejects with the value of an expression, or if it is false.
fn settings(rule: &str) -> String {
    let own = r#"{"max":4,"share":0.25,"tiers":["gold"]}"#;
    format!(r#"{{"cel":{{"filter":[{rule}]}},"settings":{own},"facts":["prices"]}}"#)
}

fn condition(expression: &str) -> String {
    settings(&format!(r#"{{"expression":{expression:?},"message":"rejected"}}"#))
}

#[test]
fn the_guest_in_the_repository_answers_as_its_source() {
    let (compiled, native) = (load(&module()), Native::<Cel>::new());
    for rule in RULES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let value = format!("'%s'.format([{rule}])");
        let settings = settings(&format!(r#"{{"expression":"pod.name == ''","messageExpression":{value:?}}}"#));
        let answer = |policy: &dyn Policy| policy.filter(&ask(view(), &settings), &[0]).map_err(|fault| fault.kind);
        assert_eq!(
            answer(compiled.as_ref()),
            answer(&native),
            "{rule}: run `make guests` after a change of its source"
        );
    }
}

#[test]
fn a_hostile_rule_ends_with_a_named_fault_or_is_refused() {
    let policy = load(&module());
    let ask_of = |placed: usize, settings: &str, millis: u64| -> Ask {
        let limits = Limits::until(Instant::now() + Duration::from_millis(millis), 64 << 20);
        Ask::new("test".into(), Arc::new(view_of(placed).with_settings(settings.into())), limits)
    };
    let within = |settings: &str, millis: u64| ask_of(1, settings, millis);
    let filter = |expression: &str| policy.filter(&within(&condition(expression), 2_000), &[0]);
    let loops =
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c != pod.priority - 99)))";
    let reads = "placed.all(a, placed.all(b, cluster.label('app', a.name + b.name).count() == 0))";
    for (expression, named) in [
        (loops, "/filter/0/expression:1:26: `lists.range(1000).all(b, "),
        (reads, "/filter/0/expression:1:1: `placed.all(a, placed.all(b, cluster.label('app', "),
    ] {
        let found = policy.filter(&ask_of(400, &condition(expression), 30_000), &[0]);
        let Err(Fault { kind: FaultKind::Panic, detail, .. }) = found else { panic!("{expression}: {found:?}") };
        assert!(detail.contains(named) && detail.contains("its loops have more than 20,000 steps"), "{detail}");
    }
    assert_eq!(filter("pod.priority == 7"), Ok(vec![Verdict::Fits]));

    let grown = format!("pod.annotations['text']{}.size() > 1", ".replace('a', 'aaaaaaaa')".repeat(8));
    assert_eq!(filter(&grown).map_err(|fault| fault.kind), Err(FaultKind::Memory));
    let doubled = format!("pod.annotations['text']{}.size() > 1", ".split('').map(x, x + x).join('')".repeat(12));
    let kind = filter(&doubled).map_err(|fault| fault.kind);
    assert!(matches!(kind, Err(FaultKind::Memory | FaultKind::Timeout | FaultKind::Panic)), "{kind:?}");

    // No pattern takes exponential time; this one takes none at all worth mentioning.
    let pattern = filter("pod.annotations['text'].matches('^(a*)*(a|aa)*b$')").map_err(|fault| fault.kind);
    assert!(matches!(pattern.as_deref(), Ok([Verdict::Unschedulable(_)]) | Err(FaultKind::Timeout)), "{pattern:?}");

    let output = settings(r#"{"expression":"pod.name == ''","messageExpression":"pod.annotations['text']"}"#);
    let answer = policy.filter(&within(&output, 2_000), &[0]).unwrap();
    assert!(matches!(&answer[..], [Verdict::Unschedulable(reason)] if reason.len() == 1024), "{answer:?}");

    for (expression, expected) in [
        (format!("{}pod.name{} == ''", "(".repeat(3000), ")".repeat(3000)), None),
        (format!("{}1{} == [pod.priority]", "[".repeat(3000), "]".repeat(3000)), Some("nested more than 48 deep")),
        (format!("pod.name == ''{}", " + 'x'".repeat(1000)), Some("more than 128 levels")),
        (format!("pod.priority{} > 0", " + 1".repeat(100)), None),
        (format!("{}pod.priority > 0", "-".repeat(5000)), None),
        (format!("{}true", "pod.name == '' ? true : ".repeat(300)), Some("of `? :` are allowed")),
    ] {
        let refused = policy.validate(&within(&condition(&expression), 2_000)).unwrap().err();
        match expected {
            Some(expected) => assert!(refused.as_deref().is_some_and(|text| text.contains(expected)), "{refused:?}"),
            None => assert_eq!(refused, None),
        }
    }
}
