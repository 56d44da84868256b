//! Core modules become components, whatever compiler made them; the WASI functions of their runtimes are frozen.

use std::sync::{Arc, OnceLock};

use plimsoll_core::{
    BindMetadata, Cluster, Fault, FaultKind, Loader, MetadataEntry, Node, NotBound, Pod, Policy, Verb, Verdict, View,
};
use plimsoll_guests::{
    toolchains::{c_guest, go_guest},
    world, zone,
};
use plimsoll_wasm::module_of;

fn verdicts(policy: &dyn Policy, settings: &str) -> Result<Vec<Verdict>, Fault> {
    let view = world::view(&world::cluster(world::NODES)).with_settings(Arc::from(settings));
    let mut ask = world::patient(world::ask(view));
    ask.limits.memory = 256 << 20;
    policy.filter(&ask, &[0, 1, 2, 3])
}

fn expected() -> [Verdict; 4] {
    let not = || Verdict::Unschedulable("not in zone a".into());
    [Verdict::Fits, not(), Verdict::Fits, not()]
}

#[test]
fn a_module_written_by_hand_becomes_a_component() {
    let policy = world::loader().load("", &module_of(&zone())).unwrap();
    assert_eq!(verdicts(&*policy, "null").unwrap(), expected());
}

/// The SDK's example `everything` as it was built before the interface `cluster` was added. A module of the contract must
/// load for as long as the contract has its version, so this file never changes.
#[test]
fn a_module_from_before_the_contract_was_extended_loads_and_answers() {
    let module = include_bytes!("../../guests/released/everything-before-cluster.wasm");
    let policy = world::loader().load("", &module_of(module)).unwrap();
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    let reason = |topic: &str| match verdicts(&*policy, &format!(r#"{{"topic":"{topic}"}}"#)).unwrap().remove(0) {
        Verdict::Unschedulable(reason) => reason.to_string(),
        other => panic!("{topic}: {other:?}"),
    };
    assert_eq!(reason("time"), "1700000000 1699999980 1699999200");
    assert!(reason("placed").contains("p0"), "{}", reason("placed"));
    assert!(reason("node").contains("n0"), "{}", reason("node"));
}

/// The same as it was built when `bind` had its older form, and before `placed.known` and the fields beside it.
#[test]
fn a_module_that_exports_the_older_form_of_bind_loads_and_answers() {
    let module = include_bytes!("../../guests/released/everything-before-binding.wasm");
    let policy = world::loader().load("", &module_of(module)).unwrap();
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    let view = |annotations: &str| {
        let json = format!(r#"{{"metadata":{{"name":"n","annotations":{annotations}}}}}"#);
        let node = Node::from_json(json.into()).unwrap();
        let pod = Pod::from_json(r#"{"metadata":{"name":"p"}}"#.into()).unwrap();
        let cluster = Arc::new(Cluster::from_objects(vec![node], vec![]));
        View::new(Arc::new(pod), cluster, Arc::from([0]), 0).with_settings(r#"{"topic":"pod"}"#.into())
    };
    let bind = |annotations: &str| policy.bind(&world::ask(view(annotations)), 0).unwrap();
    let annotations = vec![MetadataEntry::new("node", "n"), MetadataEntry::new("value", "v")];
    assert_eq!(bind(r#"{"bind":"v"}"#), Ok(BindMetadata::from(annotations)));
    assert_eq!(bind("{}"), Err(NotBound::Refused("p cannot be bound".to_owned())));
    let ask = world::ask(view(r#"{"verdict":"unresolvable"}"#));
    assert_eq!(policy.filter(&ask, &[0]).unwrap(), [Verdict::Unresolvable("a text that is not allocated".into())]);
}

#[test]
fn a_module_in_c_becomes_a_component() {
    let Some(module) = c_guest() else { return };
    let policy = world::loader().load("", &module_of(&module)).unwrap();
    assert_eq!(verdicts(&*policy, "null").unwrap(), expected());
}

#[test]
fn a_module_in_go_becomes_a_component() {
    let Some(policy) = go() else { return };
    for harmless in ["", "recover", "print"] {
        assert_eq!(verdicts(&*policy, &format!(r#"{{"do":"{harmless}"}}"#)).unwrap(), expected(), "{harmless}");
    }
    assert_eq!(verdicts(&*policy, r#"{"do":"collect"}"#).unwrap(), [const { Verdict::Fits }; 4]);
}

#[test]
fn a_runtime_that_gives_up_tells_why() {
    let Some(policy) = go() else { return };
    let cases = [
        ("panic", FaultKind::Panic, "panic: assignment to entry in nil map"),
        ("exhaust", FaultKind::Memory, "was refused: its limit is 256 MiB"),
        ("deadlock", FaultKind::Panic, "deadlock"),
    ];
    for (what, kind, text) in cases {
        let fault = verdicts(&*policy, &format!(r#"{{"do":"{what}"}}"#)).unwrap_err();
        assert_eq!(fault.kind, kind, "{what}: {fault}");
        assert!(fault.detail.contains(text), "{what}: {fault}");
    }
}

#[test]
fn a_runtime_that_waits_is_ended_in_time() {
    let Some(policy) = go() else { return };
    for what in ["sleep", "loop"] {
        let settings = Arc::from(format!(r#"{{"do":"{what}"}}"#));
        let ask = world::ask(world::view(&world::cluster(world::NODES)).with_settings(settings));
        assert_eq!(policy.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout, "{what}");
    }
}

#[test]
fn a_runtime_finds_no_files_no_network_and_a_world_that_stands_still() {
    let Some(policy) = go() else { return };
    let reason = |what: &str| match verdicts(&*policy, &format!(r#"{{"do":"{what}"}}"#)).unwrap().remove(0) {
        Verdict::Unschedulable(reason) => reason,
        other => panic!("{what}: {other:?}"),
    };
    assert!(reason("file").contains("/etc/passwd"), "{}", reason("file"));
    assert!(!reason("network").is_empty());
    let frozen = reason("frozen");
    assert!(frozen.starts_with("2020-01-01T00:00:00Z ") && frozen.ends_with(" [policy] []"), "{frozen}");
    assert_eq!(frozen, reason("frozen"));
}

/// Compiled once for all tests: it has four megabytes.
fn go() -> Option<Arc<dyn Policy>> {
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    // Asked for by each test, so that each is reported as skipped if there is none.
    let module = go_guest()?;
    Some(Arc::clone(POLICY.get_or_init(|| world::loader().load("", &module_of(&module)).unwrap())))
}
