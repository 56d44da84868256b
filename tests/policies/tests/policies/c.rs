//! The C SDK: its own tests, and its examples in the host, compared with the same policy in Rust.

use std::{
    env, fs,
    process::Command,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{Annotation, BindMetadata, Fault, FaultKind, Label, NotBound, Policy, Preemption, Verb, Verdict};
use plimsoll_guests::toolchains::{c_example, c_policy, c_sdk_clang};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load, load_bytes};
use plimsoll_policy::testing::{World, node, pod};

use super::{everything, go};

/// Every warning of clang that is not about style.
const STRICT: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I."];

/// The example `everything`, compiled once for all tests.
fn compiled() -> Option<Arc<dyn Policy>> {
    static MODULE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    let module = MODULE.get_or_init(|| c_example("everything"));
    let module = module.as_ref().or_else(|| {
        // Each test is reported as skipped.
        c_example("everything");
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

/// Runs clang with these arguments; false where there is none.
fn compiles(arguments: &[&str]) -> bool {
    let Some(output) = c_sdk_clang(arguments) else { return false };
    assert!(output.status.success(), "clang {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn the_examples_of_the_sdk_pass_their_own_tests_without_webassembly() {
    let answers = workspace().join(go::ANSWERS);
    for example in ["needs-label", "everything"] {
        let program = env::temp_dir().join(format!("plimsoll-c-{example}-{}", std::process::id()));
        let source = format!("examples/{example}/test.c");
        let own = [&source, "-std=c11", "-g", "-fsanitize=undefined", "-fno-sanitize-recover", "-o"];
        if !compiles(&[&own[..], &[program.to_str().unwrap()], &STRICT].concat()) {
            return;
        }
        let output = Command::new(&program).arg(&answers).output().unwrap();
        fs::remove_file(&program).unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{example}: {text}");
    }
}

#[test]
fn the_headers_are_valid_c_and_cpp_for_both_targets_without_a_warning() {
    let example = "examples/needs-label/needs-label.c";
    for (language, standard) in [("c", "-std=c11"), ("c++", "-std=c++17")] {
        for target in [&["--target=wasm32", "-ffreestanding"][..], &[]] {
            let own = ["-fsyntax-only", standard, "-x", language, example];
            if !compiles(&[&own, target, &STRICT].concat()) {
                return;
            }
        }
        let own = ["-Wno-unused", "-fsyntax-only", standard, "-x", language, "plimsoll_test.h"];
        compiles(&[&STRICT[..], &own].concat());
    }
}

#[test]
fn every_read_gives_a_module_in_c_what_it_gives_the_policy_in_rust() {
    let answers = fs::read_to_string(workspace().join(go::ANSWERS)).unwrap();
    let Some(policy) = compiled() else { return };
    for line in answers.lines() {
        let (topic, answer) = line.split_once(": ").unwrap();
        assert_eq!(tell(&*policy, topic).unwrap(), answer, "{topic} in C");
    }
}

#[test]
fn without_a_view_of_the_cluster_every_read_of_it_is_none_in_c() {
    let Some(policy) = compiled() else { return };
    let ask = ask(everything::world().without_cluster().view().unwrap(), &everything::settings("cluster"));
    let none = "(None, None, None) (None, None, None) (None, None) (None, None) None";
    assert_eq!(policy.filter(&ask, &[0]).unwrap(), [Verdict::Unschedulable(none.into())]);
}

#[test]
fn every_kind_of_answer_arrives_as_c_gave_it() {
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
fn what_a_pod_gets_and_why_it_is_not_bound_arrive_as_c_gave_them() {
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
fn settings_are_refused_by_c_with_the_field() {
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
fn a_module_in_c_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = compiled() else { return };
    let table = [
        ("panic", FaultKind::Panic, "no node-1 here, at everything.c:"),
        ("missing", FaultKind::Read, "node"),
        ("trap", FaultKind::Trap, "unreachable"),
        ("memory", FaultKind::Memory, "was refused"),
        ("recursion", FaultKind::Trap, ""),
    ];
    for (topic, kind, text) in table {
        let fault = tell(&*policy, topic).unwrap_err();
        assert_eq!((fault.kind, fault.detail.contains(text)), (kind, true), "{topic}: {fault}");
    }
    let mut ask = ask(everything::world().view().unwrap(), &everything::settings("loop"));
    ask.limits.deadline = Instant::now() + Duration::from_millis(200);
    assert_eq!(policy.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout);
}

#[test]
fn the_example_in_c_decides_with_its_settings_and_their_defaults() {
    let Some(module) = c_example("needs-label") else { return };
    assert!(module.len() < 12 << 10, "the module has {} bytes", module.len());
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

#[test]
fn the_c_policy_of_the_benchmark_answers_as_the_one_in_rust() {
    let Some(module) = c_policy("tenant-pool") else { return };
    let (in_c, in_rust) =
        (load_bytes("tenant-pool", &module), load(&workspace().join("target/policies/tenant-pool.wasm")));
    let table = [
        (r#"{"label": "é", "pools": {"web": "😀"}, "shared": []}"#, Ok(())),
        (r#"{"label": "é", "pools": {"web": "other"}}"#, Ok(())),
        (r#"{"label": "é", "pools": {"other": "\ud83d\ude00", "x": "y"}}"#, Ok(())),
        (r#"{"label": "é", "pools": {"other": "y"}, "shared": ["x", "😀"]}"#, Ok(())),
        (r#"{"pools": {"web": "x"}, "shared": ["x"]}"#, Err("pools.web: the pool 'x' is shared, so it is no one's")),
    ];
    for (settings, validated) in table {
        let ask = ask(everything::world().view().unwrap(), settings);
        let answers = [&in_c, &in_rust].map(|policy| (policy.validate(&ask).unwrap(), policy.filter(&ask, &[0, 1, 2])));
        assert_eq!(answers[0].0, validated.map_err(str::to_owned), "{settings}");
        assert_eq!(answers[0].0, answers[1].0, "{settings}");
        if validated.is_ok() {
            assert_eq!(answers[0].1.as_ref().unwrap(), answers[1].1.as_ref().unwrap(), "{settings}");
        }
    }
}
