//! The Python SDK beyond the conformance suite: its own tests, its faults, and its environment.
//!
//! The component imports WASI 0.2, as componentize-py makes it: so these are also the tests of a real one.

use plimsoll_core::FaultKind;
use plimsoll_guests::toolchains::python_sdk_command;

use super::languages::{PYTHON, fails_as_said, tell};

#[test]
fn the_python_sdk_passes_its_own_tests_and_strict_type_checks() {
    for (module, arguments) in [("pytest", &["-q", "-p", "no:cacheprovider"][..]), ("mypy", &["--cache-dir=/dev/null"])]
    {
        let Some(output) = python_sdk_command(module, arguments) else { return };
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success(), "{module}: {text}");
    }
}

#[test]
fn a_module_in_python_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = PYTHON.policy() else { return };
    let table = [
        ("panic", FaultKind::Panic, "LookupError: no node-1 here, at "),
        ("trap", FaultKind::Panic, "'NoneType' object has no attribute 'name', at "),
        ("recursion", FaultKind::Panic, "RecursionError"),
        ("exit", FaultKind::Panic, "SystemExit: 3"),
        ("memory", FaultKind::Memory, "was refused"),
    ];
    fails_as_said(&*policy, &table);
}

#[test]
fn a_runtime_on_wasi_0_2_finds_no_files_no_network_and_a_world_that_stands_still() {
    let Some(policy) = PYTHON.policy() else { return };
    let world = tell(&*policy, "world").unwrap();
    assert!(world.starts_with("1577836800 0.0 ") && world.ends_with(" {}"), "{world}");
    assert_eq!(tell(&*policy, "world").unwrap(), world);
    for topic in ["file", "network"] {
        let error = tell(&*policy, topic).unwrap();
        assert!(error.contains("Error: "), "{topic}: {error}");
    }
    assert_eq!(tell(&*policy, "print").unwrap(), "printed");
}
