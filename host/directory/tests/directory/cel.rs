//! A sidecar with a rule in CEL is a policy.

use std::sync::Arc;

use plimsoll_core::{PolicyState, Roster, Verb};
use plimsoll_directory::{ChangeKind, DirectoryConfig, PolicyChange};

use crate::{
    fake::good,
    starting::filter,
    world::{Watched, World, member},
};

/// A sidecar whose only expression this is, as YAML.
fn rule(expression: &str) -> String {
    format!("cel:\n  filter:\n  - expression: {expression}\n")
}

/// The reason of the root's filters for a pod; none if a policy failed.
fn reason(roster: &Arc<Roster>) -> Option<String> {
    filter(roster, "a").ok()?
}

fn wait_for_reason(watched: &mut Watched, wanted: &str) {
    let wanted = format!("gold: {wanted} null []");
    watched.wait_for(&wanted, |roster| reason(&Arc::new(roster.clone())).as_ref() == Some(&wanted));
}

/// Whether each load of the policy changed only what is beside its rule.
fn loads(watched: &Watched) -> Vec<bool> {
    let only_settings = |PolicyChange { kind, .. }: &PolicyChange| match kind {
        ChangeKind::Loaded { only_settings, .. } => Some(*only_settings),
        _ => None,
    };
    watched.changes.iter().filter_map(only_settings).collect()
}

#[test]
fn a_rule_is_a_policy_whose_verbs_and_reads_are_its_own() {
    let world = World::new();
    world.write("a.yaml", &rule("one"));
    world.write("b.yaml", "cel: {filter: [{expression: placed}], score: one}\nfacts: [load]\nsettings: {a: 1}\n");
    let roster = world.open().roster;
    assert_eq!(roster.failures(), []);
    let (a, b) = (member(&roster, "a").unwrap(), member(&roster, "b").unwrap());
    assert_eq!(a.policy.verbs().iter().collect::<Vec<_>>(), [Verb::Filter, Verb::Validate]);
    assert_eq!((a.reads_pods(), b.reads_pods(), b.policy.verbs().has(Verb::Score)), (false, true, true));
    assert_ne!(a.digest, b.digest);
    assert_eq!(reason(&roster).as_deref(), Some("a: one null []"));
    world.remove("a.yaml");
    assert_eq!(reason(&world.open().roster).as_deref(), Some(r#"b: placed {"a":1} ["load"]"#));
}

#[test]
fn an_edit_of_a_rule_is_a_new_version_and_one_beside_it_changes_settings() {
    let world = World::new();
    world.write("gold.yaml", &rule("one"));
    let mut watched = world.watch();
    wait_for_reason(&mut watched, "one");
    world.put("gold.yaml", &(rule("'one'") + "order: 3\n"));
    watched.wait_for("the order", |roster| member(roster, "gold").is_some_and(|gold| gold.config.order == 3));
    world.put("gold.yaml", &rule("two"));
    wait_for_reason(&mut watched, "two");
    assert_eq!(loads(&watched)[watched.changes.len() - 2..], [true, false], "{:?}", watched.changes);
}

#[test]
fn a_wrong_rule_keeps_the_last_good_one_also_over_a_restart() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    let config = || DirectoryConfig { last_good: Some(beside.path().join("last-good")), ..world.config() };
    world.write("gold.yaml", &rule("one"));
    let mut watched = world.start(config());
    wait_for_reason(&mut watched, "one");
    world.put("gold.yaml", &rule("one wrong"));
    watched.wait_for("the refusal", |roster| roster.state("gold") == PolicyState::Kept);
    wait_for_reason(&mut watched, "one");
    let error = "gold.yaml:3:21: cel.filter[0].expression: no such word: is it right?";
    assert_eq!(world.failure(&watched.roster), error);
    drop(watched);
    let mut watched = world.start(config());
    wait_for_reason(&mut watched, "one");
    watched.wait_for("the refusal", |roster| roster.state("gold") == PolicyState::Kept);
    world.put("gold.yaml", &rule("three"));
    wait_for_reason(&mut watched, "three");
}

#[test]
fn an_error_in_a_rule_names_its_place_in_the_file() {
    let world = World::new();
    for (yaml, place) in [
        ("one wrong", "3:21"),
        ("'it''s wrong'", "3:24"),
        ("\"one\\twrong\"", "3:23"),
        ("|\n      one\n      and wrong", "5:11"),
        (">-\n      one\n      and wrong", "4:7"),
    ] {
        world.write("x.yaml", &rule(yaml));
        let error = world.failure(&world.open().roster);
        assert!(error.starts_with(&format!("x.yaml:{place}: cel.filter[0].expression: ")), "{yaml}: {error}");
    }
}

#[test]
fn what_fails_and_what_is_remarked_has_its_place_too() {
    let world = World::new();
    world.write("x.yaml", &rule("one broken"));
    let error = world.failure(&world.open().roster);
    assert!(error.ends_with(": x.yaml:3:21: cel.filter[0].expression: it is broken"), "{error}");
    world.write("x.yaml", &rule("one slow"));
    let x = member(&world.open().roster, "x").unwrap();
    let [remark] = x.policy.remarks() else { panic!("{:?}", x.policy.remarks()) };
    assert!(remark.ends_with("x.yaml:3:21: cel.filter[0].expression: it is slow"), "{remark}");
}

#[test]
fn a_read_that_a_rule_did_not_describe_is_refused() {
    let world = World::new();
    world.write("x.yaml", &rule("unsaid"));
    let error = world.failure(&world.open().roster);
    assert!(error.ends_with("read: the policy reads placed.count, and did not say so as it was loaded"), "{error}");
}

#[test]
fn a_rule_stands_alone_and_decides_something() {
    let world = World::new();
    for (yaml, expected) in [
        ("module: y.wasm\ncel: {score: a}", "x.yaml:1:9: module: this key is for a module, and the rule is in `cel`"),
        ("stdio: {}\ncel: {score: a}", "x.yaml:1:8: stdio: this key is for a module, and the rule is in `cel`"),
        ("cel: {}", "x.yaml:1:6: cel: it decides nothing: expected a filter or a score"),
        ("cel: {filter: [{expression: a, mesage: b}]}", "x.yaml:1:32: cel.filter[0]: unknown key 'mesage'"),
        ("cel: {filter: [{message: b}]}", "x.yaml:1:17: cel.filter[0]: the key 'expression' is missing"),
        (
            "cel: {filter: [{expression: a, message: b, messageExpression: c}]}",
            "x.yaml:1:63: cel.filter[0].messageExpression: expected this key or message, and both are there",
        ),
    ] {
        world.write("x.yaml", yaml);
        let error = world.failure(&world.open().roster);
        assert!(error.starts_with(expected), "{yaml}: {error}");
    }
    world.write("x.yaml", &rule("one"));
    world.write("x.wasm", &good("v1"));
    let error = world.failure(&world.open().roster);
    assert_eq!(error, "x.yaml: cel: there is a module, too, x.wasm: expected the rule in one of them");
}
