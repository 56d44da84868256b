//! Each limit, obeyed and violated.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::{Ask, Fault, FaultKind, Loader, Policy, Verdict};
use plimsoll_guests::{compile, world};
use plimsoll_harness::wait_until;
use plimsoll_wasm::{EngineConfig, WasmLoader, module_of};

/// A policy whose `filter` does this and then says that the node fits.
fn policy(loader: &WasmLoader, declarations: &str, body: &str) -> Arc<dyn Policy> {
    let wat = format!(
        r#"(module
          {declarations}
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (local $n i32)
            {body}
            (i32.const 64)))"#
    );
    loader.load("", &module_of(&compile("limit", &wat))).unwrap()
}

const MEMORY: &str = r#"(memory (export "memory") 1)"#;

fn ask() -> Ask {
    world::patient(world::ask(world::view(&world::cluster(1))))
}

fn outcome(declarations: &str, body: &str) -> Result<Vec<Verdict>, Fault> {
    policy(&world::loader(), declarations, body).filter(&ask(), &[0])
}

fn kind(declarations: &str, body: &str) -> FaultKind {
    outcome(declarations, body).unwrap_err().kind
}

#[test]
fn memory_obeyed() {
    // 64 MiB are 1,024 pages, and one is there.
    assert!(outcome(MEMORY, "(if (i32.eq (memory.grow (i32.const 1023)) (i32.const -1)) (then unreachable))").is_ok());
}

#[test]
fn memory_violated() {
    let body = "(if (i32.eq (memory.grow (i32.const 1024)) (i32.const -1)) (then unreachable))";
    assert_eq!(kind(MEMORY, body), FaultKind::Memory);
}

#[test]
fn a_guest_that_lives_with_a_refusal_goes_on() {
    assert!(outcome(MEMORY, "(drop (memory.grow (i32.const 1024)))").is_ok());
}

#[test]
fn a_guest_beyond_its_own_maximum_is_not_out_of_memory() {
    let declared = r#"(memory (export "memory") 1 2)"#;
    let body = "(if (i32.eq (memory.grow (i32.const 2)) (i32.const -1)) (then unreachable))";
    assert_eq!(kind(declared, body), FaultKind::Trap);
}

#[test]
fn the_engine_has_the_last_word_about_memory() {
    let loader = WasmLoader::new(EngineConfig { max_memory: 1 << 20, ..EngineConfig::in_process() }).unwrap();
    let body = "(if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))";
    let fault = policy(&loader, MEMORY, body).filter(&ask(), &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Memory, "{fault}");
}

#[test]
fn table_obeyed() {
    let declared = format!("{MEMORY} (table $t 1 funcref)");
    let body = "(if (i32.eq (table.grow $t (ref.null func) (i32.const 90000)) (i32.const -1)) (then unreachable))";
    assert!(outcome(&declared, body).is_ok());
}

#[test]
fn table_violated() {
    let declared = format!("{MEMORY} (table $t 1 funcref)");
    let body = "(if (i32.eq (table.grow $t (ref.null func) (i32.const 100000)) (i32.const -1)) (then unreachable))";
    assert_eq!(kind(&declared, body), FaultKind::Memory);
}

const RECURSION: &str = r#"(memory (export "memory") 1)
    (func $deeper (param $left i32) (result i32)
      (if (result i32) (local.get $left)
        (then (i32.add (call $deeper (i32.sub (local.get $left) (i32.const 1))) (i32.const 1)))
        (else (i32.const 0))))"#;

#[test]
fn stack_obeyed() {
    assert!(outcome(RECURSION, "(drop (call $deeper (i32.const 5000)))").is_ok());
}

#[test]
fn stack_violated() {
    assert_eq!(kind(RECURSION, "(drop (call $deeper (i32.const 5000000)))"), FaultKind::Stack);
}

#[test]
fn time_obeyed() {
    let mut ask = ask();
    ask.limits.deadline = Instant::now() + Duration::from_secs(20);
    let body = "(loop $again (local.set $n (i32.add (local.get $n) (i32.const 1)))
                  (br_if $again (i32.ne (local.get $n) (i32.const 10000000))))";
    assert!(policy(&world::loader(), MEMORY, body).filter(&ask, &[0]).is_ok());
}

#[test]
fn time_violated() {
    let policy = policy(&world::loader(), MEMORY, "(loop $again (br $again))");
    let mut ask = ask();
    ask.limits.deadline = Instant::now() + Duration::from_millis(30);
    assert_eq!(policy.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout);
}

#[test]
fn a_call_whose_time_is_over_before_it_begins_is_late() {
    let policy = policy(&world::loader(), MEMORY, "(loop $again (br $again))");
    let mut ask = ask();
    ask.limits.deadline = Instant::now();
    assert_eq!(policy.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout);
}

/// A reason of this many bytes.
fn reason(bytes: u32) -> Result<Vec<Verdict>, Fault> {
    let body = format!(
        "(memory.fill (i32.const 1024) (i32.const 120) (i32.const 8192))
         (i32.store (i32.const 64) (i32.const 1)) (i32.store (i32.const 68) (i32.const 1024))
         (i32.store (i32.const 72) (i32.const {bytes}))"
    );
    outcome(MEMORY, &body)
}

#[test]
fn reason_length_obeyed() {
    assert_eq!(reason(1024).unwrap(), [Verdict::Unschedulable("x".repeat(1024).into())]);
}

#[test]
fn reason_length_violated() {
    let fault = reason(1025).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert_eq!(fault.detail, "a reason of 1025 bytes; at most 1024 are allowed; it was asked about n0");
}

/// A filter of this many nodes whose reasons of this many bytes differ.
fn reasons(nodes: u32, bytes: u32) -> Result<usize, Fault> {
    let body = format!(
        "(memory.fill (i32.const 1024) (i32.const 120) (i32.const 1024))
         (i32.store (i32.const 1024) (i32.or (i32.const 0x20202020)
           (i32.or (i32.and (local.get $node) (i32.const 0x0f))
             (i32.or (i32.shl (i32.and (local.get $node) (i32.const 0xf0)) (i32.const 4))
               (i32.shl (i32.and (local.get $node) (i32.const 0xf00)) (i32.const 8))))))
         (i32.store8 (i32.const 1028) (i32.add (i32.const 32) (i32.shr_u (local.get $node) (i32.const 12))))
         (i32.store (i32.const 64) (i32.const 1)) (i32.store (i32.const 68) (i32.const 1024))
         (i32.store (i32.const 72) (i32.const {bytes}))"
    );
    let ask = world::patient(world::ask(world::view(&world::cluster(nodes))));
    let nodes: Vec<u32> = (0..nodes).collect();
    policy(&world::loader(), MEMORY, &body).filter(&ask, &nodes).map(|answers| answers.len())
}

#[test]
fn reasons_together_obeyed() {
    assert_eq!(reasons(4096, 1024), Ok(4096));
    assert_eq!(reasons(60_000, 60), Ok(60_000));
}

#[test]
fn reasons_together_violated() {
    let fault = reasons(4097, 1024).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(fault.detail.starts_with("different reasons of more than 4 MiB in one call"), "{fault}");
}

/// A log line of this many bytes.
fn log_line(bytes: u32) -> Result<Vec<Verdict>, Fault> {
    let declared = r#"(import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
                      (memory (export "memory") 32)"#;
    outcome(declared, &format!("(call $log (i32.const 1) (i32.const 1024) (i32.const {bytes}))"))
}

#[test]
fn transfer_obeyed() {
    assert!(log_line(1 << 20).is_ok());
}

#[test]
fn transfer_violated() {
    let fault = log_line((1 << 20) + 1).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(fault.detail.starts_with("it handed over more than 1024 KiB at once"), "{fault}");
}

#[test]
fn calls_at_once_obeyed() {
    let loader = WasmLoader::new(EngineConfig { max_calls: 2, ..EngineConfig::in_process() }).unwrap();
    let policy = policy(&loader, MEMORY, "");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|_| assert!(policy.filter(&ask(), &[0]).is_ok())));
        }
    });
}

#[test]
fn calls_at_once_violated() {
    let loader = WasmLoader::new(EngineConfig { max_calls: 1, ..EngineConfig::in_process() }).unwrap();
    let (slow, quick) = (policy(&loader, MEMORY, "(loop $again (br $again))"), policy(&loader, MEMORY, ""));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut ask = ask();
            ask.limits.deadline = Instant::now() + Duration::from_secs(2);
            assert_eq!(slow.filter(&ask, &[0]).unwrap_err().kind, FaultKind::Timeout);
        });
        // The slow call never waits for a permit: one that did may be called busy.
        wait_until("the slow call has the only permit", || (loader.shares().calls == [1, 0]).then_some(())).unwrap();
        let mut soon = ask();
        soon.limits.deadline = Instant::now() + Duration::from_millis(5);
        assert_eq!(quick.filter(&soon, &[0]).unwrap_err().kind, FaultKind::Busy);
        // One that can wait gets its permit.
        assert!(quick.filter(&ask(), &[0]).is_ok());
    });
}

#[test]
fn an_instance_keeps_nothing_for_the_next_call() {
    let declared = r#"(memory (export "memory") 1) (global $calls (mut i32) (i32.const 0))"#;
    let body = "(if (i32.or (global.get $calls) (i32.load (i32.const 4096))) (then unreachable))
                (global.set $calls (i32.const 1)) (i32.store (i32.const 4096) (i32.const 1))";
    let policy = policy(&world::loader(), declared, body);
    for _ in 0..3 {
        assert!(policy.filter(&ask(), &[0]).is_ok());
    }
    // Within one call the instance is the same.
    assert!(policy.filter(&ask(), &[0, 0]).is_err());
}
