//! Spares that have read their settings ahead of a call: nothing but the time of the call can tell.

use std::sync::Arc;

use plimsoll_core::{Ask, FaultKind, Loader, Policy, Verb, Verdict, read_for};
use plimsoll_guests::{compile, world};
use plimsoll_harness::wait_until;
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

/// Fails the call if `validate` was not asked before in this instance, or was.
const TRAPS_UNLESS_PRIMED: &str = "(if (i32.eqz (global.get $validated)) (then unreachable))";
const TRAPS_IF_PRIMED: &str = "(if (global.get $validated) (then unreachable))";

/// A module whose `validate` and `filter` have these bodies; both find their good answer at 64.
fn module(validate: &str, filter: &str) -> Vec<u8> {
    module_with("", validate, filter)
}

/// The same with more fields, such as a table.
fn module_with(fields: &str, validate: &str, filter: &str) -> Vec<u8> {
    module_of_pages(1, fields, validate, filter)
}

/// The same with a memory of this many pages.
fn module_of_pages(pages: usize, fields: &str, validate: &str, filter: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
          (import "plimsoll:policy/host@0.1.0" "settings" (func $settings (param i32)))
          (import "plimsoll:policy/host@0.1.0" "now" (func $now (param i32) (result i64)))
          (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
          (import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
          (global $validated (mut i32) (i32.const 0))
          (memory (export "memory") {pages})
          {fields}
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
    compile("primed", &wat)
}

fn policy(loader: &WasmLoader, validate: &str, filter: &str) -> Arc<dyn Policy> {
    loader.load("", &module_of(&module(validate, filter))).unwrap()
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

/// Bodies of `validate` that do more than read the settings, or refuse them.
const UNFIT: [&str; 6] = [
    "(drop (call $count))",
    "(drop (call $now (i32.const 1)))",
    "(call $log (i32.const 1) (i32.const 0) (i32.const 1))",
    "(drop (memory.grow (i32.const 300)))",
    "unreachable",
    "(i32.store8 (i32.const 64) (i32.const 1))",
];

#[test]
fn a_validate_that_does_more_than_read_settings_is_left_to_its_call() {
    for body in UNFIT {
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

/// A loaded policy, pre-initialised with settings.
fn preinitialized(loader: &WasmLoader, validate: &str, filter: &str, settings: &Arc<str>) -> Arc<dyn Policy> {
    let module = module(validate, filter);
    let policy = loader.load("", &module_of(&module)).unwrap();
    loader.preinitialize_now(&module_of(&module), settings).unwrap();
    policy
}

#[test]
fn every_instance_of_a_pre_initialised_module_has_read_its_settings() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = preinitialized(&loader, "", TRAPS_UNLESS_PRIMED, &settings);
    for _ in 0..20 {
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn no_instance_of_a_pre_initialised_module_has_been_used_by_another_call() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let once = "(if (i32.ne (global.get $validated) (i32.const 1)) (then unreachable))
        (global.set $validated (i32.const 2))
        (if (i32.ne (i32.load (i32.const 4096)) (i32.const 7)) (then unreachable))
        (i32.store (i32.const 4096) (i32.const 8))";
    let policy = preinitialized(&loader, "(i32.store (i32.const 4096) (i32.const 7))", once, &settings);
    for _ in 0..20 {
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn validate_explanations_and_other_settings_have_the_module_as_it_is() {
    let (loader, [ours, theirs]) = (world::loader(), ["{}", "[]"].map(settings));
    let twice = "(if (i32.gt_u (global.get $validated) (i32.const 1)) (then unreachable))";
    let policy = preinitialized(&loader, twice, TRAPS_IF_PRIMED, &ours);
    assert_eq!(policy.filter(&ask(&ours), &[0]).unwrap_err().kind, FaultKind::Trap);
    policy.validate(&ask(&ours)).unwrap().unwrap();
    read_for(policy.as_ref(), &ask(&ours), Verb::Filter, 0).unwrap();
    assert_eq!(policy.filter(&ask(&theirs), &[0]).unwrap(), [Verdict::Fits]);
}

#[test]
fn a_call_with_less_memory_than_pre_initialised_instances_have_gets_the_module_as_it_is() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let grows = "(drop (memory.grow (i32.const 31)))";
    let policy = preinitialized(&loader, grows, TRAPS_IF_PRIMED, &settings);
    let with_pages = |pages: usize| {
        let mut ask = ask(&settings);
        ask.limits.memory = pages << 16;
        policy.filter(&ask, &[0])
    };
    assert_eq!(with_pages(32).unwrap_err().kind, FaultKind::Trap);
    assert_eq!(with_pages(31).unwrap(), [Verdict::Fits]);
}

#[test]
fn a_module_whose_validate_does_more_than_read_settings_is_not_pre_initialised() {
    let endless = "(loop $l (br $l))";
    for body in UNFIT.into_iter().chain([endless]) {
        let (loader, settings, module) = (world::loader(), settings("{}"), module(body, TRAPS_IF_PRIMED));
        let policy = loader.load("", &module_of(&module)).unwrap();
        let error = loader.preinitialize_now(&module_of(&module), &settings).unwrap_err();
        assert!(error.to_string().contains("cannot be pre-initialised"), "{body}: {error}");
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

/// No call and no load need follow: a policy that is deleted is asked nothing.
#[test]
fn what_was_made_for_a_policy_goes_with_its_settings() {
    let (loader, module) = (world::loader(), module("(drop (memory.grow (i32.const 15)))", ""));
    let policy = loader.load("", &module_of(&module)).unwrap();
    wait_for_spares(&loader, 1);
    let plain = loader.shares().bytes;
    let mut all: Vec<_> = (0..4).map(|at| settings(&at.to_string())).collect();
    for settings in &all {
        loader.preinitialize_now(&module_of(&module), settings).unwrap();
    }
    assert_eq!(loader.preinitialized(), 4);
    for (at, settings) in (2..).zip(&all) {
        prime(&loader, policy.as_ref(), settings, at);
    }
    let (full, spares) = (loader.shares().bytes, loader.spares());
    let _first = all.swap_remove(0);
    drop(all);
    wait_until("only the first policy's", || (loader.preinitialized() == 1).then_some(())).unwrap();
    wait_until("its spare alone", || (loader.spares() == spares - 3).then_some(())).unwrap();
    assert_eq!(loader.shares().bytes - plain, (full - plain) / 4);
}

/// A pre-initialised module has a copy of the memory that its instances begin with, beside its code.
#[test]
fn the_memory_that_instances_begin_with_counts_as_that_of_guests() {
    const PAGES: usize = 100;
    let (loader, settings) = (world::loader(), settings("{}"));
    let module = module(&format!("(drop (memory.grow (i32.const {})))", PAGES - 1), "");
    let _policy = loader.load("", &module_of(&module)).unwrap();
    wait_for_spares(&loader, 1);
    let before = loader.shares().bytes;
    loader.preinitialize_now(&module_of(&module), &settings).unwrap();
    let more = loader.shares().bytes - before;
    assert!(more >= PAGES << 16, "{more} bytes");
}

#[test]
fn a_module_that_is_not_pre_initialised_says_why() {
    let module = module("", "");
    let loader = WasmLoader::new(EngineConfig { guest_memory: 128 << 10, ..EngineConfig::in_process() }).unwrap();
    let _policy = loader.load("", &module_of(&module)).unwrap();
    let error = loader.preinitialize_now(&module_of(&module), &settings("{}")).unwrap_err();
    assert!(error.to_string().contains("too little of the memory of all guests is free"), "{error}");

    let loader = world::loader();
    let policy = loader.load("", &module_of(&module)).unwrap();
    let all: Vec<_> = (0..64).map(|at| settings(&at.to_string())).collect();
    for settings in &all {
        policy.filter(&ask(settings), &[0]).unwrap();
    }
    let error = loader.preinitialize_now(&module_of(&module), &settings("{}")).unwrap_err();
    assert!(error.to_string().contains("too many policies have this module"), "{error}");
}

/// The warm memory, half of all, has no room beside three spares of somewhat more than 1 MiB. Nothing but a spare saves the
/// start of a module that is too large to be pre-initialised.
#[test]
fn spares_give_way_to_a_pre_initialised_module_unless_theirs_cannot_be_one() {
    for (padding, gives_way) in [(0, true), (9 << 20, false)] {
        let config = EngineConfig { guest_memory: 8 << 20, ..EngineConfig::in_process() };
        let (loader, settings) = (WasmLoader::new(config).unwrap(), settings("{}"));
        let spare = |at: u8| {
            let fields = format!("(func (drop (i32.const {at}))) (@custom \"padding\" \"{}\")", "x".repeat(padding));
            loader.load("", &module_of(&module_of_pages(16, &fields, "", ""))).unwrap()
        };
        let _spares: Vec<_> = (0..3).map(spare).collect();
        wait_for_spares(&loader, 3);
        let module = module_of(&module_of_pages(16, "", "", TRAPS_UNLESS_PRIMED));
        let policy = loader.load("", &module).unwrap();
        assert_eq!(loader.preinitialize_now(&module, &settings).is_ok(), gives_way);
        assert_eq!(policy.filter(&ask(&settings), &[0]).is_ok(), gives_way);
        assert_eq!(loader.spares() == 3, !gives_way);
    }
}

/// Only memories and numbers are written into a module: a function that `validate` puts into a table would be lost, and
/// the policy would follow another rule.
#[test]
fn a_module_with_state_outside_of_memories_and_numbers_is_not_pre_initialised() {
    let table = "(table $rules 2 funcref) (elem (i32.const 0) $first $second) (func $first) (func $second unreachable)";
    let copy = "(table.copy (i32.const 0) (i32.const 1) (i32.const 1))";
    let set = "(table.set $rules (i32.const 0) (table.get $rules (i32.const 1)))";
    let calls = "(call_indirect $rules (i32.const 0))";
    let reference = "(global $rule (mut funcref) (ref.null func)) (elem declare func $next) (func $next)";
    let segment = "(elem $rest func $third) (func $third)";
    for (fields, validate, filter) in [
        (table, copy, ""),
        (table, set, ""),
        (table, "", copy),
        (table, "(drop (table.grow $rules (ref.null func) (i32.const 1)))", ""),
        (reference, "(global.set $rule (ref.func $next))", ""),
        (segment, "(elem.drop $rest)", ""),
        ("(data $text \"x\")", "(data.drop $text)", ""),
    ] {
        let (loader, settings, module) = (world::loader(), settings("{}"), module_with(fields, validate, filter));
        let _policy = loader.load("", &module_of(&module)).unwrap();
        let error = loader.preinitialize_now(&module_of(&module), &settings).unwrap_err();
        assert!(error.to_string().contains("unsupported"), "{validate}: {error}");
    }
    let (loader, settings, module) = (world::loader(), settings("{}"), module_with(table, calls, calls));
    let _policy = loader.load("", &module_of(&module)).unwrap();
    loader.preinitialize_now(&module_of(&module), &settings).unwrap();
}
