//! The AssemblyScript SDK beyond the conformance suite: its own tests, its faults, and its example in the host.

use plimsoll_core::{FaultKind, Verdict};
use plimsoll_guests::toolchains::{assemblyscript_example, assemblyscript_sdk_tests};
use plimsoll_policies::ask;
use plimsoll_policy::testing::{World, node, pod};

use super::languages::{ASSEMBLYSCRIPT, decides_by_labels, fails_as_said};

#[test]
fn the_assemblyscript_sdk_passes_its_own_tests() {
    let Some(output) = assemblyscript_sdk_tests() else { return };
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{text}");
}

#[test]
fn a_module_in_assemblyscript_that_misbehaves_ends_as_the_fault_of_its_kind() {
    let Some(policy) = ASSEMBLYSCRIPT.policy() else { return };
    let table = [
        ("panic", FaultKind::Panic, "no node-1 here, at misbehave.ts:"),
        ("trap", FaultKind::Panic, "Index out of range, at ~lib/array.ts:"),
        ("missing-node", FaultKind::Read, "node"),
        ("recursion", FaultKind::Stack, "recursed"),
        ("memory", FaultKind::Memory, "was refused"),
    ];
    fails_as_said(&*policy, &table);
}

#[test]
fn the_example_in_assemblyscript_decides_with_its_settings_and_their_defaults() {
    let Some(module) = assemblyscript_example("needs-label") else { return };
    assert!(module.len() < 24 << 10, "the module has {} bytes", module.len());
    decides_by_labels(&module, [99, 100], None);
}

/// Each node leaves garbage of several times its annotation, and all nodes together far more than the memory of a call.
#[test]
fn memory_of_one_node_is_given_back_before_it_runs_out() {
    let Some(policy) = ASSEMBLYSCRIPT.policy() else { return };
    let nodes: Vec<String> = (0..1500).map(|at| format!("node-{at}")).collect();
    let mut world = World::new(pod("p"));
    for name in &nodes {
        world = world.node(node(name).annotation("large", &"é".repeat(3000)));
    }
    let slots: Vec<u32> = (0..1500).collect();
    let verdicts = policy.filter(&ask(world.view().unwrap(), r#"{"topic": "large"}"#), &slots).unwrap();
    assert!(
        verdicts.iter().all(|verdict| matches!(verdict, Verdict::Unschedulable(reason) if reason.contains("count=20")))
    );
}
