//! Instances that are made ahead of their calls: no call can tell, whatever a guest does as it starts.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, FaultKind, Limits, Loader, Policy, Verdict};
use plimsoll_guests::{compile, hostile, world, zone};
use plimsoll_harness::wait_until;
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

/// A policy with these declarations and this `filter`, which is to leave its answer at 64: all fits.
fn policy(loader: &WasmLoader, declarations: &str, body: &str) -> Arc<dyn Policy> {
    let wat = format!(
        r#"(module
          {declarations}
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
            {body}
            (i32.const 64)))"#
    );
    loader.load("", &module_of(&compile("spare", &wat))).unwrap()
}

fn ask(nodes: u32) -> Ask {
    world::patient(world::ask(world::view(&world::cluster(nodes))))
}

fn with_memory(mib: usize) -> Ask {
    let ask = ask(1);
    Ask { limits: Limits { memory: mib << 20, ..ask.limits }, ..ask }
}

fn wait_for_spares(loader: &WasmLoader, count: u32) {
    wait_until(&format!("{count} spares"), || (loader.spares() == count).then_some(())).unwrap();
}

/// Loads a policy that can be made ahead, and waits until it is: policies that were loaded before it were tried by
/// then.
fn wait_until_all_were_tried(loader: &WasmLoader) {
    let tried = policy(loader, "", "");
    wait_for_spares(loader, 1);
    drop(tried);
    wait_for_spares(loader, 0);
}

#[test]
fn a_policy_that_is_loaded_has_an_instance_ready() {
    let loader = world::loader();
    let _policy = policy(&loader, "", "");
    wait_for_spares(&loader, 1);
}

#[test]
fn a_spare_is_asked_by_one_call_and_then_replaced() {
    let loader = world::loader();
    let body = "(if (i32.or (global.get $calls) (i32.load (i32.const 4096))) (then unreachable))
                (global.set $calls (i32.const 1)) (i32.store (i32.const 4096) (i32.const 1))";
    let policy = policy(&loader, "(global $calls (mut i32) (i32.const 0))", body);
    for _ in 0..20 {
        wait_for_spares(&loader, 1);
        assert_eq!(policy.filter(&ask(1), &[0]).unwrap(), [Verdict::Fits]);
    }
    // Within one call the instance is the same.
    assert_eq!(policy.filter(&ask(1), &[0, 0]).unwrap_err().kind, FaultKind::Trap);
}

#[test]
fn calls_one_right_after_another_get_more_spares_up_to_a_bound() {
    for (max_spares, count) in [(64, 4), (2, 2), (0, 0)] {
        let loader = WasmLoader::new(EngineConfig { max_spares, ..EngineConfig::in_process() }).unwrap();
        let policy = policy(&loader, "", "");
        let mut looks = 0;
        let reached = wait_until("spares", || {
            // Between two rounds of calls there is time to make what they lacked.
            if looks % 25 == 0 {
                (0..32).for_each(|_| drop(policy.filter(&ask(1), &[0]).unwrap()));
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
    let loader = world::loader();
    let declared = r#"(import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
        (global $seen (mut i32) (i32.const 0))
        (func $start (global.set $seen (call $count)))
        (start $start)"#;
    let body = "(if (i32.ne (global.get $seen) (call $count)) (then unreachable))";
    let policy = policy(&loader, declared, body);
    wait_until_all_were_tried(&loader);
    for nodes in 1..5 {
        assert_eq!(policy.filter(&ask(nodes), &[0]).unwrap(), [Verdict::Fits], "{nodes} nodes");
    }
    assert_eq!(loader.spares(), 0);
}

#[test]
fn a_start_that_fails_fails_in_each_call_as_before() {
    let loader = world::loader();
    let load = |name: &str| {
        let guest = hostile().iter().find(|guest| guest.name == name).unwrap();
        loader.load("", &module_of(&guest.bytes)).unwrap()
    };
    let [traps, loops, grows] = ["trap_in_start", "endless_loop_in_start", "memory_at_start"].map(load);
    wait_until_all_were_tried(&loader);
    for _ in 0..2 {
        let fault = traps.filter(&ask(1), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Start, "{fault}");
        let mut soon = ask(1);
        soon.limits.deadline = Instant::now() + Duration::from_millis(20);
        let fault = loops.filter(&soon, &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Timeout, "{fault}");
        let fault = grows.filter(&ask(1), &[0]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Memory, "{fault}");
    }
}

#[test]
fn a_start_within_its_call_may_take_more_than_one_ahead() {
    let loader = world::loader();
    // 512 pages are 32 MiB.
    let start =
        "(func $start (if (i32.eq (memory.grow (i32.const 512)) (i32.const -1)) (then unreachable))) (start $start)";
    let policy = policy(&loader, start, "");
    wait_until_all_were_tried(&loader);
    assert_eq!(policy.filter(&with_memory(64), &[0]).unwrap(), [Verdict::Fits]);
    assert_eq!(policy.filter(&with_memory(16), &[0]).unwrap_err().kind, FaultKind::Memory);
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
    let loader = world::loader();
    // 1, 15 and 16 pages are 2 MiB.
    let policy = grower(&loader, 15, 16);
    for _ in 0..3 {
        wait_for_spares(&loader, 1);
        assert_eq!(policy.filter(&with_memory(2), &[0]).unwrap(), [Verdict::Fits]);
    }
    let policy = grower(&loader, 15, 17);
    wait_for_spares(&loader, 2);
    let fault: Fault = policy.filter(&with_memory(2), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Memory);
    assert!(fault.detail.contains("its limit is 2 MiB") && fault.detail.contains("asked about"), "{fault}");
}

#[test]
fn a_call_with_less_memory_than_a_spare_took_fails_as_it_starts() {
    let loader = world::loader();
    let policy = grower(&loader, 31, 0);
    wait_for_spares(&loader, 1);
    let fault = policy.filter(&with_memory(1), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Memory);
    assert!(fault.detail.contains("its limit is 1 MiB") && fault.detail.contains("it was starting"), "{fault}");
    // It is left to those who may have as much.
    assert_eq!(loader.spares(), 1);
    assert_eq!(policy.filter(&with_memory(2), &[0]).unwrap(), [Verdict::Fits]);
}

#[test]
fn a_policy_that_is_dropped_leaves_no_spare() {
    let loader = world::loader();
    let policies = [policy(&loader, "", ""), loader.load("", &module_of(&zone())).unwrap()];
    wait_for_spares(&loader, 2);
    drop(policies);
    wait_for_spares(&loader, 0);
}

#[test]
fn a_loader_ends_whatever_is_being_made() {
    for _ in 0..20 {
        let loader = world::loader();
        let policy = policy(&loader, "", "");
        drop(loader);
        assert_eq!(policy.filter(&ask(1), &[0]).unwrap(), [Verdict::Fits]);
    }
}

#[test]
fn spares_are_taken_by_many_threads_at_once() {
    let loader = WasmLoader::new(EngineConfig { max_calls: 2, ..EngineConfig::in_process() }).unwrap();
    let policies = [policy(&loader, "", ""), loader.load("", &module_of(&zone())).unwrap()];
    thread::scope(|scope| {
        for at in 0..8 {
            let policy = &policies[at % 2];
            scope.spawn(move || (0..200).for_each(|_| assert!(policy.filter(&ask(1), &[0]).is_ok())));
        }
    });
    assert!(loader.spares() <= 2);
}
