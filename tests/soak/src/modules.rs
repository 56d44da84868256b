//! Modules that fill memory which has a bound.

use plimsoll_guests::compile;

/// A module that recurses without end if the priority of the pod is odd. Calls that succeed in between keep its circuit
/// closed, and each priority is new, so that no answer comes from the cache.
pub(crate) fn recursive() -> Vec<u8> {
    let text = r#"(module
        (import "plimsoll:policy/pod@0.1.0" "priority" (func $priority (result i32)))
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
        (func $deeper (param $depth i32) (result i32)
          (i32.add (call $deeper (i32.add (local.get $depth) (i32.const 1))) (i32.const 1)))
        (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
          (if (i32.and (call $priority) (i32.const 1)) (then (drop (call $deeper (i32.const 0)))))
          (i32.const 1024)))"#;
    compile("deep", text)
}

/// A module that writes to its first 320 KiB and accepts each node; the number makes it another module.
pub(crate) fn filling(number: u32) -> Vec<u8> {
    let text = format!(
        r#"(module
        (memory (export "memory") 5)
        (data (i32.const 0) "{number}")
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
        (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
          (memory.fill (i32.const 8192) (i32.const 1) (i32.const 319488))
          (i32.const 1024)))"#
    );
    compile("wide", &text)
}
