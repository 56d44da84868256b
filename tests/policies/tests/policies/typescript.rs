//! The TypeScript SDK beyond the conformance suite: its own tests, its faults, its environment, and its example in the host.
//!
//! The components import WASI 0.2, as componentize-qjs makes them.

use plimsoll_core::FaultKind;
use plimsoll_guests::toolchains::{typescript_example, typescript_sdk_tests};

use super::languages::{TYPESCRIPT, decides_by_labels, fails_as_said, tell};

#[test]
fn the_typescript_sdk_passes_strict_type_checks_and_its_own_tests() {
    let Some(output) = typescript_sdk_tests() else { return };
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
}

#[test]
fn a_module_in_typescript_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = TYPESCRIPT.policy() else { return };
    let table = [
        ("panic", FaultKind::Panic, "RangeError: no node-1 here, at misbehave (misbehave.ts:"),
        ("trap", FaultKind::Panic, "TypeError: cannot read property 'name' of undefined, at misbehave (misbehave.ts:"),
        ("async", FaultKind::Panic, "a reason: expected a string, found a promise"),
        ("recursion", FaultKind::Stack, "recursed"),
        ("memory", FaultKind::Memory, "was refused"),
    ];
    fails_as_said(&*policy, &table);
}

#[test]
fn a_module_in_typescript_finds_a_world_that_stands_still() {
    let Some(policy) = TYPESCRIPT.policy() else { return };
    let world = tell(&*policy, "world").unwrap();
    assert!(world.starts_with("1577836800000 0 ") && world.ends_with(" []"), "{world}");
    assert_eq!(tell(&*policy, "world").unwrap(), world);
    assert_eq!(tell(&*policy, "print").unwrap(), "printed");
    assert_eq!(tell(&*policy, "eval").unwrap(), "42");
}

#[test]
fn the_example_in_typescript_decides_in_the_host_with_its_settings_and_their_defaults() {
    let Some(module) = typescript_example("needs-label") else { return };
    decides_by_labels(&module, [99, 100], None);
}
