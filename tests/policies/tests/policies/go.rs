//! The Go SDK beyond the conformance suite: its own tests, its faults, and its examples in the host.

use plimsoll_core::{FaultKind, Verb};
use plimsoll_guests::toolchains::{go_example, go_policy, go_sdk_command};
use plimsoll_harness::workspace;
use plimsoll_policies::{load, load_bytes};

use super::languages::{GO, asked, decides_by_labels, fails_as_said, tell};

/// Runs a command of the SDK; its output, and whether it succeeded.
fn command(program: &str, arguments: &[&str]) -> Option<(bool, String)> {
    let output = go_sdk_command(program, arguments)?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Some((output.status.success(), text))
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

#[test]
fn a_policy_in_go_whose_verb_is_not_exported_is_refused() {
    let Some(module) = go_policy("forgotten") else { return };
    let policy = load_bytes("forgotten", &module);
    // Only now: compiling may take longer than a call may.
    let refused = policy.validate(&asked("null")).unwrap();
    assert_eq!(refused, Err("Forgotten has the verb score, and score.Export is not called".to_owned()));
}

#[test]
fn the_go_policies_of_the_benchmark_answer_as_those_in_rust() {
    let cases = [
        ("tenant-pool", r#"{"label": "é", "pools": {"web": "😀"}, "shared": []}"#),
        ("warm-image", r#"{"by": "images"}"#),
    ];
    for (name, settings) in cases {
        let Some(module) = go_policy(name) else { return };
        let in_go = load_bytes(name, &module);
        let in_rust = load(&workspace().join(format!("target/policies/{name}.wasm")));
        // Its time begins now: a busy machine compiles both for longer than that.
        let ask = asked(settings);
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
    let Some(policy) = GO.policy() else { return };
    let table = [
        ("panic", FaultKind::Panic, "no node-1 here, at misbehave.go:"),
        ("nil", FaultKind::Panic, "assignment to entry in nil map, at misbehave.go:"),
        ("trap", FaultKind::Panic, "index out of range [0] with length 0, at misbehave.go:"),
        ("goroutine", FaultKind::Panic, "in a goroutine"),
        ("deadlock", FaultKind::Panic, "deadlock"),
        ("exit", FaultKind::Panic, "3"),
        ("memory", FaultKind::Memory, "was refused"),
        ("recursion", FaultKind::Stack, "recursed"),
    ];
    fails_as_said(&*policy, &table);
}

#[test]
fn values_stay_right_while_go_collects_garbage_and_moves_stacks() {
    let Some(policy) = GO.policy() else { return };
    assert_eq!(tell(&*policy, "collect").unwrap(), "no value was wrong");
}

#[test]
fn the_example_decides_in_the_host_with_its_settings_and_their_defaults() {
    let Some(module) = go_example("needs-label") else { return };
    decides_by_labels(&module, [50, 25], Some([100, 100]));
}
