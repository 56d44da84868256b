//! The TypeScript SDK: its own tests, and components of it in the host, compared with the same policy in Rust.
//!
//! The components import WASI 0.2, as componentize-qjs makes them.

use std::{
    fs,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{
    Annotation, Ask, BindMetadata, Fault, FaultKind, Label, NotBound, Policy, Preemption, Verb, Verdict,
};
use plimsoll_guests::toolchains::{typescript_example, typescript_sdk_tests};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load_bytes};
use plimsoll_policy::testing::{World, node, pod};

use super::everything;

/// The example `everything`, built and compiled once for all tests.
fn compiled() -> Option<Arc<dyn Policy>> {
    static MODULE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    let module = MODULE.get_or_init(|| typescript_example("everything"));
    let module = module.as_ref().or_else(|| {
        // Each test is reported as skipped.
        typescript_example("everything");
        None
    })?;
    Some(Arc::clone(POLICY.get_or_init(|| load_bytes("everything", module))))
}

fn asked(settings: &str) -> Ask {
    ask(everything::world().view().unwrap(), settings)
}

/// Its answer about the first node, for a topic.
fn tell(policy: &dyn Policy, topic: &str) -> Result<String, Fault> {
    match policy.filter(&asked(&everything::settings(topic)), &[0])?.remove(0) {
        Verdict::Unschedulable(reason) => Ok(reason.to_string()),
        other => panic!("{topic}: {other:?}"),
    }
}

#[test]
fn the_typescript_sdk_passes_strict_type_checks_and_its_own_tests() {
    let Some(output) = typescript_sdk_tests() else { return };
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
}

/// The tests in TypeScript compare `plimsoll/testing` with this file, so all give the same values.
#[test]
fn every_read_gives_a_module_in_typescript_what_it_gives_the_policy_in_rust() {
    let Some(policy) = compiled() else { return };
    let answers = workspace().join("plugin-sdk/go/examples/everything/testdata/answers.txt");
    for line in fs::read_to_string(&answers).unwrap().lines() {
        let (topic, answer) = line.split_once(": ").unwrap();
        assert_eq!(tell(&*policy, topic).unwrap(), answer, "{topic}");
    }
}

#[test]
fn without_a_view_of_the_cluster_every_read_of_it_is_undefined_in_typescript() {
    let Some(policy) = compiled() else { return };
    let ask = ask(everything::world().without_cluster().view().unwrap(), &everything::settings("cluster"));
    let none = "(None, None, None) (None, None, None) (None, None) (None, None) None";
    assert_eq!(policy.filter(&ask, &[0]).unwrap(), [Verdict::Unschedulable(none.into())]);
}

#[test]
fn every_kind_of_answer_arrives_as_typescript_gave_it() {
    let Some(policy) = compiled() else { return };
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    let time = asked(&everything::settings("time"));
    let verdicts = policy.filter(&time, &[2, 1]).unwrap();
    assert_eq!(verdicts, [Verdict::Unresolvable("a text that is not allocated".into()), Verdict::Fits]);
    assert_eq!(policy.score(&time, &[0, 1, 2]).unwrap(), [100, 7, 0]);
    assert_eq!(policy.rank(&time).unwrap(), [100, 7, 0]);
    let candidates = ask(everything::world().preempt_view().unwrap(), &everything::settings("pod"));
    let expected = [
        Preemption::Keep,
        Preemption::Replace(vec![0]),
        Preemption::Reject(r#"["b", "c"] of ["node-3", "node-1", "node-1"]"#.into()),
    ];
    assert_eq!(policy.preempt(&candidates, &[0, 1, 2]).unwrap(), expected);
}

#[test]
fn the_metadata_of_a_bind_and_the_reason_against_it_arrive_as_typescript_gave_them() {
    let Some(policy) = compiled() else { return };
    let on = |name: &str, bind: &str| node(name).annotation("bind", bind);
    let world =
        everything::world().node(on("node-4", "é\n😀")).node(on("node-5", "later")).node(on("node-6", "nothing"));
    let ask = ask(world.view().unwrap(), &everything::settings("pod"));
    let annotations = vec![Annotation::new("node", "node-4"), Annotation::new("value", "é\n😀")];
    let table = [
        (3, Ok(BindMetadata { annotations, labels: vec![Label::new("rack", "r1")] })),
        (0, Err(NotBound::Refused("p cannot be bound".to_owned()))),
        (4, Err(NotBound::Retry("not yet".to_owned()))),
        (5, Ok(BindMetadata::default())),
    ];
    for (node, mut expected) in table {
        let mut answer = policy.bind(&ask, node).unwrap();
        for bound in [&mut answer, &mut expected].into_iter().flatten() {
            bound.annotations.sort_by(|one, other| one.key.cmp(&other.key));
        }
        assert_eq!(answer, expected);
    }
}

#[test]
fn settings_are_refused_by_typescript_with_the_field() {
    let Some(policy) = compiled() else { return };
    let table = [
        ("null", "the field topic is missing"),
        (r#"{"topic": 5}"#, "topic: expected a string, found a number"),
        (r#"{"topic": "pod", "to": 1}"#, "there is no field to; expected topic"),
        (r#"{"topic": "refused"}"#, "topic: é is refused"),
    ];
    for (settings, error) in table {
        assert_eq!(policy.validate(&asked(settings)).unwrap(), Err(error.to_owned()), "{settings}");
        let fault = policy.filter(&asked(settings), &[0]).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(error)), (FaultKind::Panic, true), "{settings}: {fault}");
    }
    assert_eq!(policy.validate(&asked(&everything::settings("pod"))).unwrap(), Ok(()));
}

#[test]
fn a_module_in_typescript_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = compiled() else { return };
    let table = [
        ("panic", FaultKind::Panic, "RangeError: no node-1 here, at misbehave (misbehave.ts:"),
        ("none", FaultKind::Panic, "TypeError: cannot read property 'name' of undefined, at misbehave (misbehave.ts:"),
        ("async", FaultKind::Panic, "a reason: expected a string, found a promise"),
        ("recursion", FaultKind::Stack, "recursed"),
        ("memory", FaultKind::Memory, "was refused"),
    ];
    for (topic, kind, text) in table {
        let fault = tell(&*policy, topic).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(text)), (kind, true), "{topic}: {fault}");
    }
    let mut endless = asked(&everything::settings("loop"));
    endless.limits.deadline = Instant::now() + Duration::from_millis(500);
    assert_eq!(policy.filter(&endless, &[0]).unwrap_err().kind, FaultKind::Timeout);
}

#[test]
fn a_module_in_typescript_finds_a_world_that_stands_still() {
    let Some(policy) = compiled() else { return };
    let world = tell(&*policy, "world").unwrap();
    assert!(world.starts_with("1577836800000 0 ") && world.ends_with(" []"), "{world}");
    assert_eq!(tell(&*policy, "world").unwrap(), world);
    assert_eq!(tell(&*policy, "print").unwrap(), "printed");
    assert_eq!(tell(&*policy, "eval").unwrap(), "42");
}

#[test]
fn the_example_in_typescript_decides_in_the_host_with_its_settings_and_their_defaults() {
    let Some(module) = typescript_example("needs-label") else { return };
    let policy = load_bytes("needs-label", &module);
    let world = World::new(pod("p").annotation("example.com/needs", "ssd"))
        .node(node("fast").label("ssd", "true"))
        .node(node("slow"))
        .placed(pod("a").on("fast"));
    let lacking = || Verdict::Unresolvable("node lacks the label that the pod needs".into());
    let ask_with = |settings| ask(world.view().unwrap(), settings);
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), [Verb::Filter, Verb::Score, Verb::Validate]);
    assert_eq!(policy.filter(&ask_with("null"), &[0, 1]).unwrap(), [Verdict::Fits, lacking()]);
    let other = ask_with(r#"{"annotation": "example.com/other"}"#);
    assert_eq!(policy.filter(&other, &[0, 1]).unwrap(), [Verdict::Fits, Verdict::Fits]);
    assert_eq!(policy.score(&ask_with("null"), &[0, 1]).unwrap(), [99, 100]);
}
