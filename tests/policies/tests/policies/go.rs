//! The Go SDK: its own tests, and its examples in the host, compared with the same policy in Rust.

use std::{
    fs,
    sync::{Arc, OnceLock},
};

use plimsoll_core::{Annotation, BindMetadata, Fault, FaultKind, Label, NotBound, Policy, Preemption, Verb, Verdict};
use plimsoll_guests::toolchains::{go_example, go_policy, go_sdk_command};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load, load_bytes};
use plimsoll_policy::testing::{World, node, pod};

use super::everything;

/// The answers of `everything` about each topic, in every language.
pub(super) const ANSWERS: &str = "plugin-sdk/go/examples/everything/testdata/answers.txt";

const TOPICS: [&str; 7] = ["pod", "node", "placed", "cluster", "field", "large", "time"];

/// Runs a command of the SDK; its output, and whether it succeeded.
fn command(program: &str, arguments: &[&str]) -> Option<(bool, String)> {
    let output = go_sdk_command(program, arguments)?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
}

/// The example `everything`, compiled once for all tests: it has four megabytes.
fn compiled() -> Option<Arc<dyn Policy>> {
    static MODULE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    let module = MODULE.get_or_init(|| go_example("everything"));
    let module = module.as_ref().or_else(|| {
        // Each test is reported as skipped.
        go_example("everything");
        None
    })?;
    Some(Arc::clone(POLICY.get_or_init(|| load_bytes("everything", module))))
}

/// Its answer about the first node, for a topic.
fn tell(policy: &dyn Policy, topic: &str) -> Result<String, Fault> {
    let ask = ask(everything::world().view().unwrap(), &everything::settings(topic));
    match policy.filter(&ask, &[0])?.remove(0) {
        Verdict::Unschedulable(reason) => Ok(reason.to_string()),
        other => panic!("{topic}: {other:?}"),
    }
}

#[test]
fn the_sdk_passes_its_own_tests_without_webassembly() {
    for arguments in [&["vet", "./..."], &["test", "./..."]] {
        let Some((succeeded, text)) = command("go", arguments) else { return };
        assert!(succeeded, "go {arguments:?}: {text}");
    }
}

#[test]
fn the_sdk_and_the_code_that_is_generated_for_it_are_as_gofmt_writes_them() {
    let Some((_, text)) = command("gofmt", &["-l", "."]) else { return };
    assert_eq!(text, "");
}

/// The tests in Go compare `plimsolltest` with this file, so all four give the same values.
#[test]
fn every_read_gives_a_module_in_go_what_it_gives_the_policy_in_rust() {
    let file = workspace().join(ANSWERS);
    let answers = fs::read_to_string(&file).unwrap();
    for (topic, line) in TOPICS.into_iter().zip(answers.lines()) {
        let mut native = tell(&*everything::native(), topic).unwrap();
        // The text of an error is that of the language's own JSON reader.
        if let Some(at) = native.find(" Err(") {
            let end = at + native[at..].find(") ").unwrap() + 1;
            native.replace_range(at..end, "");
        }
        assert_eq!(line, format!("{topic}: {native}"), "{} against the Rust SDK", file.display());
        if let Some(policy) = compiled() {
            assert_eq!(tell(&*policy, topic).unwrap(), native, "{topic} in Go");
        }
    }
    assert_eq!(answers.lines().count(), TOPICS.len());
}

#[test]
fn without_a_view_of_the_cluster_every_read_of_it_is_none_in_go() {
    let Some(policy) = compiled() else { return };
    let ask = ask(everything::world().without_cluster().view().unwrap(), &everything::settings("cluster"));
    let none = "(None, None, None) (None, None, None) (None, None) (None, None) None";
    assert_eq!(policy.filter(&ask, &[0]).unwrap(), [Verdict::Unschedulable(none.into())]);
}

#[test]
fn every_kind_of_answer_arrives_as_go_gave_it() {
    let Some(policy) = compiled() else { return };
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    let ask_time = ask(everything::world().view().unwrap(), &everything::settings("time"));
    let verdicts = policy.filter(&ask_time, &[2, 1, 0]).unwrap();
    assert_eq!(verdicts[0], Verdict::Unresolvable("a text that is not allocated".into()));
    assert_eq!(verdicts[1], Verdict::Fits);
    assert_eq!(verdicts[2], Verdict::Unschedulable("1769864399 1769864340 1769860800".into()));
    assert_eq!(policy.score(&ask_time, &[0, 1, 2]).unwrap(), [100, 7, 0]);
    assert_eq!(policy.rank(&ask_time).unwrap(), [100, 7, 0]);
    let candidates = ask(everything::world().preempt_view().unwrap(), &everything::settings("pod"));
    let expected = [
        Preemption::Keep,
        Preemption::Replace(vec![0]),
        Preemption::Reject(r#"["b", "c"] of ["node-3", "node-1", "node-1"]"#.into()),
    ];
    assert_eq!(policy.preempt(&candidates, &[0, 1, 2]).unwrap(), expected);
}

#[test]
fn what_a_pod_gets_and_why_it_is_not_bound_arrive_as_go_gave_them() {
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
    for (node, expected) in table {
        assert_eq!(policy.bind(&ask, node).unwrap(), expected);
    }
}

#[test]
fn settings_are_refused_by_go_with_the_field() {
    let Some(policy) = compiled() else { return };
    let table = [
        ("null", "the field topic is missing"),
        (r#"{"topic": 5}"#, "topic: expected a string, found a number"),
        (r#"{"topic": "pod", "to": 1}"#, "there is no field to; expected topic"),
        (r#"{"topic": "refused"}"#, "topic: é is refused"),
    ];
    for (settings, error) in table {
        let ask = ask(everything::world().view().unwrap(), settings);
        assert_eq!(policy.validate(&ask).unwrap(), Err(error.to_owned()), "{settings}");
        let fault = policy.filter(&ask, &[0]).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(error)), (FaultKind::Panic, true), "{settings}: {fault}");
    }
    let accepted = ask(everything::world().view().unwrap(), &everything::settings("pod"));
    assert_eq!(policy.validate(&accepted).unwrap(), Ok(()));
}

#[test]
fn a_policy_in_go_whose_verb_is_not_exported_is_refused() {
    let Some(module) = go_policy("forgotten") else { return };
    let policy = load_bytes("forgotten", &module);
    // Only now: compiling may take longer than a call may.
    let refused = policy.validate(&ask(everything::world().view().unwrap(), "null")).unwrap();
    assert_eq!(refused, Err("Forgotten has the verb score, and score.Export is not called".to_owned()));
}

#[test]
fn the_go_policies_of_the_benchmark_answer_as_those_in_rust() {
    let world = everything::world();
    let cases = [
        ("tenant-pool", r#"{"label": "é", "pools": {"web": "😀"}, "shared": []}"#),
        ("warm-image", r#"{"by": "images"}"#),
    ];
    for (name, settings) in cases {
        let Some(module) = go_policy(name) else { return };
        let (in_go, ask) = (load_bytes(name, &module), ask(world.view().unwrap(), settings));
        let in_rust = load(&workspace().join(format!("target/policies/{name}.wasm")));
        assert_eq!(in_go.validate(&ask).unwrap(), Ok(()), "{name}");
        if in_go.verbs().iter().any(|verb| verb == Verb::Filter) {
            assert_eq!(in_go.filter(&ask, &[0, 1, 2]).unwrap(), in_rust.filter(&ask, &[0, 1, 2]).unwrap());
        } else {
            assert_eq!(in_go.score(&ask, &[0, 1, 2]).unwrap(), in_rust.score(&ask, &[0, 1, 2]).unwrap());
        }
    }
}

#[test]
fn a_module_in_go_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = compiled() else { return };
    let table = [
        ("panic", FaultKind::Panic, "no node-1 here, at misbehave.go:"),
        ("nil", FaultKind::Panic, "assignment to entry in nil map, at misbehave.go:"),
        ("missing", FaultKind::Panic, "index out of range [0] with length 0, at misbehave.go:"),
        ("goroutine", FaultKind::Panic, "in a goroutine"),
        ("deadlock", FaultKind::Panic, "deadlock"),
        ("exit", FaultKind::Panic, "3"),
        ("memory", FaultKind::Memory, "was refused"),
        ("recursion", FaultKind::Stack, "recursed"),
    ];
    for (topic, kind, text) in table {
        let fault = tell(&*policy, topic).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(text)), (kind, true), "{topic}: {fault}");
    }
    let mut ask = ask(everything::world().view().unwrap(), &everything::settings("loop"));
    ask.limits.deadline = std::time::Instant::now() + std::time::Duration::from_millis(200);
    assert_eq!(policy.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout);
}

#[test]
fn values_stay_right_while_go_collects_garbage_and_moves_stacks() {
    let Some(policy) = compiled() else { return };
    assert_eq!(tell(&*policy, "collect").unwrap(), "no value was wrong");
}

#[test]
fn the_example_decides_in_the_host_with_its_settings_and_their_defaults() {
    let Some(module) = go_example("needs-label") else { return };
    let policy = load_bytes("needs-label", &module);
    let world = World::new(pod("p").annotation("example.com/needs", "ssd"))
        .node(node("fast").label("ssd", "true").allocatable("memory", "16Gi"))
        .node(node("slow").allocatable("memory", "4Gi"))
        .placed(pod("a").request("memory", "8Gi").on("fast"));
    let lacking = || Verdict::Unresolvable("node lacks the label that the pod needs".into());
    let ask_with = |settings| ask(world.view().unwrap(), settings);
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), [Verb::Filter, Verb::Score, Verb::Validate]);
    assert_eq!(policy.filter(&ask_with("null"), &[0, 1]).unwrap(), [Verdict::Fits, lacking()]);
    let other = ask_with(r#"{"annotation": "example.com/other"}"#);
    assert_eq!(policy.filter(&other, &[0, 1]).unwrap(), [Verdict::Fits, Verdict::Fits]);
    assert_eq!(policy.score(&ask_with("null"), &[0, 1]).unwrap(), [50, 25]);
    assert_eq!(policy.score(&ask_with(r#"{"spare": "4Gi"}"#), &[0, 1]).unwrap(), [100, 100]);
}
