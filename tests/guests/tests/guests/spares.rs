//! Spares: instances that were created, and have read their settings, ahead of a call. Nothing but the time of the call
//! can tell.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, FaultKind, Limits, Loader, Policy, Verb, Verdict, read_for};
use plimsoll_guests::{compile, hostile, world, zone};
use plimsoll_harness::wait_until;
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

/// Fails the call if `validate` was not asked before in this instance, or was.
const TRAPS_UNLESS_SPARE: &str = "(if (i32.eqz (global.get $validated)) (then unreachable))";
const TRAPS_IF_SPARE: &str = "(if (global.get $validated) (then unreachable))";

/// A policy with these fields and this body of `filter`, which finds its good answer at 64.
fn policy(loader: &WasmLoader, fields: &str, filter: &str) -> Arc<dyn Policy> {
    let wat = format!(
        r#"(module
          {fields}
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
            {filter}
            (i32.const 64)))"#
    );
    loader.load("", &module_of(&compile("spare", &wat))).unwrap()
}

/// The same with a `validate` of this body.
fn with_validate(loader: &WasmLoader, validate: &str, filter: &str) -> Arc<dyn Policy> {
    let fields = format!(
        r#"(import "plimsoll:policy/host@0.1.0" "settings" (func $settings (param i32)))
           (import "plimsoll:policy/host@0.1.0" "now" (func $now (param i32) (result i64)))
           (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
           (import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
           (global $validated (mut i32) (i32.const 0))
           (func (export "plimsoll:policy/validate@0.1.0#validate") (result i32)
             (global.set $validated (i32.add (global.get $validated) (i32.const 1)))
             (call $settings (i32.const 128))
             {validate}
             (i32.const 64))"#
    );
    policy(loader, &fields, filter)
}

fn settings(text: &str) -> Arc<str> {
    Arc::from(text)
}

/// A question of a policy with these settings: those of a policy are one text for all its calls.
fn ask(settings: &Arc<str>) -> Ask {
    ask_about(1, settings)
}

fn ask_about(nodes: u32, settings: &Arc<str>) -> Ask {
    world::patient(world::ask(world::view(&world::cluster(nodes)).with_settings(Arc::clone(settings))))
}

fn with_memory(mib: usize, settings: &Arc<str>) -> Ask {
    let ask = ask(settings);
    Ask { limits: Limits { memory: mib << 20, ..ask.limits }, ..ask }
}

fn wait_for_spares(loader: &WasmLoader, count: usize) {
    wait_until(&format!("{count} spares"), || (loader.spares() == count).then_some(())).unwrap();
}

/// Calls `prepare`, which makes the pool create spares, until there are this many. On a busy machine an attempt may be
/// late, and is repeated after 100 calls.
fn wait_for_spares_after(loader: &WasmLoader, count: usize, mut prepare: impl FnMut()) {
    let created = wait_until(&format!("{count} spares"), || {
        if loader.spares() < count {
            prepare();
        }
        (loader.spares() >= count).then_some(())
    });
    created.unwrap();
}

/// Asks `validate`, after which a spare is created.
fn prime(loader: &WasmLoader, policy: &dyn Policy, settings: &Arc<str>, count: usize) {
    wait_for_spares_after(loader, count, || policy.validate(&ask(settings)).unwrap().unwrap());
}

/// Calls a policy whose spares would fail the call.
fn assert_never_a_spare(loader: &WasmLoader, policy: &dyn Policy, settings: &Arc<str>) {
    for _ in 0..4 {
        assert_eq!(policy.filter(&ask(settings), &[0]).unwrap(), [Verdict::Fits]);
        wait_until_all_were_tried(loader);
    }
}

/// Waits until the pool has tried to create spares after all calls so far: it has created one for a later call.
fn wait_until_all_were_tried(loader: &WasmLoader) {
    let (later, settings) = (with_validate(loader, "", TRAPS_UNLESS_SPARE), settings("later"));
    let created = wait_until("a spare of a later call", || {
        later.validate(&ask(&settings)).unwrap().unwrap();
        later.filter(&ask(&settings), &[0]).ok()
    });
    created.unwrap();
}

#[test]
fn an_instance_reads_its_settings_ahead_of_the_call_that_uses_it() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = with_validate(&loader, "", TRAPS_UNLESS_SPARE);
    assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap_err().kind, FaultKind::Trap);
    for _ in 0..20 {
        prime(&loader, policy.as_ref(), &settings, 1);
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn validate_itself_is_asked_of_an_instance_that_was_asked_nothing() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let twice = "(if (i32.gt_u (global.get $validated) (i32.const 1)) (then unreachable))";
    let policy = with_validate(&loader, twice, TRAPS_UNLESS_SPARE);
    for _ in 0..5 {
        prime(&loader, policy.as_ref(), &settings, 1);
        policy.validate(&ask(&settings)).unwrap().unwrap();
    }
}

#[test]
fn a_call_that_compares_answers_asks_validate_first() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = with_validate(&loader, "", TRAPS_UNLESS_SPARE);
    let after = Ask { after_validate: true, ..ask(&settings) };
    assert_eq!(policy.filter(&after, &[0]).unwrap(), [Verdict::Fits]);
}

#[test]
fn a_call_whose_reads_are_shown_reads_the_settings_itself() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = with_validate(&loader, "", TRAPS_IF_SPARE);
    prime(&loader, policy.as_ref(), &settings, 1);
    for _ in 0..5 {
        read_for(policy.as_ref(), &ask(&settings), Verb::Filter, 0).unwrap();
    }
    assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn settings_are_never_those_of_another_policy() {
    let (loader, [ours, theirs]) = (world::loader(), ["{}", "[]"].map(settings));
    let policy = with_validate(&loader, "", TRAPS_IF_SPARE);
    prime(&loader, policy.as_ref(), &ours, 1);
    assert_eq!(policy.filter(&ask(&theirs), &[0]).unwrap(), [Verdict::Fits]);
    assert_eq!(policy.filter(&ask(&ours), &[0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn settings_that_have_changed_leave_no_spare() {
    let loader = world::loader();
    let policy = with_validate(&loader, "", "");
    for text in ["1", "2", "3", "4"] {
        prime(&loader, policy.as_ref(), &settings(text), 1);
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
        let policy = with_validate(&loader, body, TRAPS_IF_SPARE);
        assert_never_a_spare(&loader, policy.as_ref(), &settings);
    }
}

#[test]
fn a_validate_that_never_ends_is_given_up_and_its_calls_go_on() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = with_validate(&loader, "(loop $l (br $l))", TRAPS_IF_SPARE);
    assert_never_a_spare(&loader, policy.as_ref(), &settings);
}

#[test]
fn a_spare_is_asked_by_one_call_and_then_replaced() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let body = "(if (i32.or (global.get $calls) (i32.load (i32.const 4096))) (then unreachable))
                (global.set $calls (i32.const 1)) (i32.store (i32.const 4096) (i32.const 1))";
    let policy = policy(&loader, "(global $calls (mut i32) (i32.const 0))", body);
    let fits = || assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    for _ in 0..20 {
        wait_for_spares_after(&loader, 1, fits);
        fits();
    }
    // Within one call the instance is the same.
    assert_eq!(policy.filter(&ask(&settings), &[0, 0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn calls_one_right_after_another_get_more_spares_up_to_a_bound() {
    let settings = settings("{}");
    for (max_spares, count) in [(64, 4), (2, 2), (0, 0)] {
        let loader = WasmLoader::new(EngineConfig { max_spares, ..EngineConfig::in_process() }).unwrap();
        let policy = policy(&loader, "", "");
        let mut looks = 0;
        let reached = wait_until("spares", || {
            // Between two rounds of calls there is time to make what they lacked.
            if looks % 25 == 0 {
                (0..32).for_each(|_| drop(policy.filter(&ask(&settings), &[0]).unwrap()));
            }
            looks += 1;
            assert!(loader.spares() <= count);
            (loader.spares() == count).then_some(())
        });
        reached.unwrap();
    }
}

#[test]
fn a_start_that_reads_gets_what_its_call_shows() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let declared = r#"(import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
        (global $seen (mut i32) (i32.const 0))
        (func $start (global.set $seen (call $count)))
        (start $start)"#;
    let body = "(if (i32.ne (global.get $seen) (call $count)) (then unreachable))";
    let policy = policy(&loader, declared, body);
    for nodes in 1..5 {
        wait_until_all_were_tried(&loader);
        assert_eq!(policy.filter(&ask_about(nodes, &settings), &[0]).unwrap(), [Verdict::Fits], "{nodes} nodes");
    }
    wait_for_spares(&loader, 0);
}

#[test]
fn a_start_that_fails_fails_in_each_call_as_before() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let load = |name: &str| {
        let guest = hostile().iter().find(|guest| guest.name == name).unwrap();
        loader.load("", &module_of(&guest.bytes)).unwrap()
    };
    let [traps, loops, grows] = ["trap_in_start", "endless_loop_in_start", "memory_at_start"].map(load);
    for _ in 0..2 {
        wait_until_all_were_tried(&loader);
        let fault = traps.filter(&ask(&settings), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Start, "{fault}");
        let mut soon = ask(&settings);
        soon.limits.deadline = Instant::now() + Duration::from_millis(20);
        let fault = loops.filter(&soon, &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Timeout, "{fault}");
        let fault = grows.filter(&ask(&settings), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Memory, "{fault}");
    }
}

#[test]
fn a_start_within_its_call_may_take_more_than_one_ahead() {
    let (loader, settings) = (world::loader(), settings("{}"));
    // 512 pages are 32 MiB.
    let start =
        "(func $start (if (i32.eq (memory.grow (i32.const 512)) (i32.const -1)) (then unreachable))) (start $start)";
    let policy = policy(&loader, start, "");
    assert_eq!(policy.filter(&with_memory(64, &settings), &[0]).unwrap(), [Verdict::Fits]);
    wait_until_all_were_tried(&loader);
    assert_eq!(policy.filter(&with_memory(64, &settings), &[0]).unwrap(), [Verdict::Fits]);
    assert_eq!(policy.filter(&with_memory(16, &settings), &[0]).unwrap_err().kind, FaultKind::Memory);
}

/// Grows by `at_start` pages as it starts, and by `when_asked` pages as it is asked.
fn grower(loader: &WasmLoader, at_start: u32, when_asked: u32) -> Arc<dyn Policy> {
    let declared = format!(
        "(func $grow (param i32) (if (i32.eq (memory.grow (local.get 0)) (i32.const -1)) (then unreachable)))
         (func $start (call $grow (i32.const {at_start}))) (start $start)"
    );
    policy(loader, &declared, &format!("(call $grow (i32.const {when_asked}))"))
}

#[test]
fn what_a_spare_took_to_start_counts_for_its_call() {
    let (loader, settings) = (world::loader(), settings("{}"));
    // 1, 15 and 16 pages are 2 MiB.
    let policy = grower(&loader, 15, 16);
    let fits = || assert_eq!(policy.filter(&with_memory(2, &settings), &[0]).unwrap(), [Verdict::Fits]);
    for _ in 0..3 {
        wait_for_spares_after(&loader, 1, fits);
        fits();
    }
    let other = grower(&loader, 15, 17);
    for _ in 0..2 {
        let fault: Fault = other.filter(&with_memory(2, &settings), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Memory);
        assert!(fault.detail.contains("its limit is 2 MiB") && fault.detail.contains("asked about"), "{fault}");
        wait_until_all_were_tried(&loader);
    }
}

#[test]
fn a_call_with_less_memory_than_a_spare_took_fails_as_it_starts() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policy = grower(&loader, 31, 0);
    let fits = || assert_eq!(policy.filter(&with_memory(2, &settings), &[0]).unwrap(), [Verdict::Fits]);
    wait_for_spares_after(&loader, 1, fits);
    let fault = policy.filter(&with_memory(1, &settings), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Memory);
    assert!(fault.detail.contains("its limit is 1 MiB") && fault.detail.contains("it was starting"), "{fault}");
    fits();
}

#[test]
fn a_policy_that_is_dropped_leaves_no_spare() {
    let (loader, settings) = (world::loader(), settings("{}"));
    let policies = [policy(&loader, "", ""), loader.load("", &module_of(&zone())).unwrap()];
    for (policy, count) in policies.iter().zip(1..) {
        wait_for_spares_after(&loader, count, || drop(policy.filter(&ask(&settings), &[0]).unwrap()));
    }
    drop(policies);
    wait_for_spares(&loader, 0);
}

#[test]
fn a_loader_ends_whatever_is_being_made() {
    let settings = settings("{}");
    for _ in 0..20 {
        let loader = world::loader();
        let policy = policy(&loader, "", "");
        drop(loader);
        assert_eq!(policy.filter(&ask(&settings), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn spares_are_taken_by_many_threads_at_once() {
    let settings = settings("{}");
    let loader = WasmLoader::new(EngineConfig { max_calls: 2, ..EngineConfig::in_process() }).unwrap();
    let policies = [policy(&loader, "", ""), loader.load("", &module_of(&zone())).unwrap()];
    thread::scope(|scope| {
        for at in 0..8 {
            let (policy, settings) = (&policies[at % 2], &settings);
            scope.spawn(move || (0..200).for_each(|_| assert!(policy.filter(&ask(settings), &[0]).is_ok())));
        }
    });
    assert!(loader.spares() <= 2);
}
