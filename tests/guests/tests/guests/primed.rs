//! Spares that have read their settings ahead of a call: nothing but the time of the call can tell.

use std::sync::Arc;

use plimsoll_core::{Ask, FaultKind, Loader, Policy, Verb, Verdict, read_for};
use plimsoll_guests::{compile, world};
use plimsoll_harness::wait_until;
use plimsoll_wasm::WasmLoader;

/// Fails the call if `validate` was not asked before in this instance, or was.
const TRAPS_UNLESS_PRIMED: &str = "(if (i32.eqz (global.get $validated)) (then unreachable))";
const TRAPS_IF_PRIMED: &str = "(if (global.get $validated) (then unreachable))";

/// A policy whose `validate` and `filter` have these bodies; both find their good answer at 64.
fn policy(loader: &WasmLoader, validate: &str, filter: &str) -> Arc<dyn Policy> {
    let wat = format!(
        r#"(module
          (import "plimsoll:policy/host@0.1.0" "settings" (func $settings (param i32)))
          (import "plimsoll:policy/host@0.1.0" "now" (func $now (param i32) (result i64)))
          (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
          (import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
          (global $validated (mut i32) (i32.const 0))
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/validate@0.1.0#validate") (result i32)
            (global.set $validated (i32.add (global.get $validated) (i32.const 1)))
            (call $settings (i32.const 128))
            {validate}
            (i32.const 64))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
            {filter}
            (i32.const 64)))"#
    );
    loader.load(&compile("primed", &wat)).unwrap()
}

/// A question of a policy with these settings: those of a policy are one text for all its calls.
fn ask(settings: &Arc<str>) -> Ask {
    world::patient(world::ask(world::view(&world::cluster(1)).with_settings(Arc::clone(settings))))
}

fn settings(text: &str) -> Arc<str> {
    Arc::from(text)
}

fn wait_for_spares(loader: &WasmLoader, count: u32) {
    wait_until(&format!("{count} spares"), || (loader.spares() == count).then_some(())).unwrap();
}

/// Asks `validate` until there are this many spares: a plain one of each module, and primed ones. On a busy machine an
/// attempt may be late.
fn prime(loader: &WasmLoader, policy: &dyn Policy, settings: &Arc<str>, count: u32) {
    let mut looks = 0;
    let primed = wait_until("a primed spare", || {
        if looks % 100 == 0 {
            policy.validate(&ask(settings)).unwrap().unwrap();
        }
        looks += 1;
        (loader.spares() == count).then_some(())
    });
    primed.unwrap();
}

/// Calls the policy until a spare would have been primed if it could be: another policy's, which came later, was.
fn call_until_another_is_primed(loader: &WasmLoader, policy: &dyn Policy, own: &Arc<str>) {
    wait_for_spares(loader, 1);
    for _ in 0..4 {
        assert_eq!(policy.filter(&ask(own), &[0]).unwrap(), [Verdict::Fits]);
        let (another, theirs) = (self::policy(loader, "", ""), settings("{}"));
        wait_for_spares(loader, 2);
        prime(loader, another.as_ref(), &theirs, 3);
        drop(another);
        wait_for_spares(loader, 1);
    }
}

#[test]
fn an_instance_reads_its_settings_ahead_of_the_call_that_uses_it() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = policy(&loader, "", TRAPS_UNLESS_PRIMED);
    assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap_err().kind, FaultKind::Trap);
    for _ in 0..20 {
        prime(&loader, policy.as_ref(), &settings, 2);
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn validate_itself_is_asked_of_an_instance_that_was_asked_nothing() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let twice = "(if (i32.gt_u (global.get $validated) (i32.const 1)) (then unreachable))";
    let policy = policy(&loader, twice, TRAPS_UNLESS_PRIMED);
    for _ in 0..5 {
        prime(&loader, policy.as_ref(), &settings, 2);
        policy.validate(&ask(&settings)).unwrap().unwrap();
    }
}

#[test]
fn a_call_that_compares_answers_asks_validate_first() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = policy(&loader, "", TRAPS_UNLESS_PRIMED);
    let after = Ask { after_validate: true, ..ask(&settings) };
    assert_eq!(policy.filter(&after, &[0]).unwrap(), [Verdict::Fits]);
}

#[test]
fn a_call_whose_reads_are_shown_reads_the_settings_itself() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = policy(&loader, "", TRAPS_IF_PRIMED);
    prime(&loader, policy.as_ref(), &settings, 2);
    for _ in 0..5 {
        read_for(policy.as_ref(), &ask(&settings), Verb::Filter, 0).unwrap();
    }
    assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn settings_are_never_those_of_another_policy() {
    let (loader, [ours, theirs]) = (world::loader(), ["{}", "[]"].map(settings));
    let policy = policy(&loader, "", TRAPS_IF_PRIMED);
    prime(&loader, policy.as_ref(), &ours, 2);
    assert_eq!(policy.filter(&ask(&theirs), &[0]).unwrap(), [Verdict::Fits]);
    assert_eq!(policy.filter(&ask(&ours), &[0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn settings_that_have_changed_leave_no_primed_spare() {
    let loader = world::loader();
    let policy = policy(&loader, "", "");
    for text in ["1", "2", "3", "4"] {
        prime(&loader, policy.as_ref(), &settings(text), 2);
    }
    drop(policy);
    wait_for_spares(&loader, 0);
}

#[test]
fn a_validate_that_does_more_than_read_settings_is_left_to_its_call() {
    let refuses = "(i32.store8 (i32.const 64) (i32.const 1))";
    let bodies = [
        "(drop (call $count))",
        "(drop (call $now (i32.const 1)))",
        "(call $log (i32.const 1) (i32.const 0) (i32.const 1))",
        "(drop (memory.grow (i32.const 300)))",
        "unreachable",
        refuses,
    ];
    for body in bodies {
        let (loader, settings) = (world::loader(), settings("{}"));
        let policy = policy(&loader, body, TRAPS_IF_PRIMED);
        call_until_another_is_primed(&loader, policy.as_ref(), &settings);
    }
}

#[test]
fn a_validate_that_never_ends_is_given_up_and_its_calls_go_on() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = policy(&loader, "(loop $l (br $l))", TRAPS_IF_PRIMED);
    call_until_another_is_primed(&loader, policy.as_ref(), &settings);
}
