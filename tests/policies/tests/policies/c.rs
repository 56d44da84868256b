//! The C SDK beyond the conformance suite: its own tests, its faults, and its examples in the host.

use std::{env, fs, process::Command};

use plimsoll_core::FaultKind;
use plimsoll_guests::toolchains::{c_example, c_policy, c_sdk_clang};
use plimsoll_harness::workspace;
use plimsoll_policies::{load, load_bytes};

use super::languages::{C, asked, decides_by_labels, fails_as_said};

/// Every warning of clang that is not about style.
const STRICT: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I."];

/// Runs clang with these arguments; false where there is none.
fn compiles(arguments: &[&str]) -> bool {
    let Some(output) = c_sdk_clang(arguments) else { return false };
    assert!(output.status.success(), "clang {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn the_examples_of_the_sdk_pass_their_own_tests_without_webassembly() {
    let answers = workspace().join("plugin-sdk/conformance/answers");
    for example in ["needs-label", "conformance"] {
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
fn a_module_in_c_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = C.policy() else { return };
    let table = [
        ("panic", FaultKind::Panic, "no node-1 here, at misbehave.h:"),
        ("missing-node", FaultKind::Read, "node"),
        ("trap", FaultKind::Trap, "unreachable"),
        ("memory", FaultKind::Memory, "was refused"),
        ("recursion", FaultKind::Trap, ""),
    ];
    fails_as_said(&*policy, &table);
}

#[test]
fn the_example_in_c_decides_with_its_settings_and_their_defaults() {
    let Some(module) = c_example("needs-label") else { return };
    assert!(module.len() < 12 << 10, "the module has {} bytes", module.len());
    decides_by_labels(&module, [50, 25], Some([100, 100]));
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
        let ask = asked(settings);
        let answers = [&in_c, &in_rust].map(|policy| (policy.validate(&ask).unwrap(), policy.filter(&ask, &[0, 1, 2])));
        assert_eq!(answers[0].0, validated.map_err(str::to_owned), "{settings}");
        assert_eq!(answers[0].0, answers[1].0, "{settings}");
        if validated.is_ok() {
            assert_eq!(answers[0].1.as_ref().unwrap(), answers[1].1.as_ref().unwrap(), "{settings}");
        }
    }
}
