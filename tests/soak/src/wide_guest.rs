//! The guest that writes to all memory that an unused slot of the instance pool keeps.

/// The module: it writes to its first 320 KiB and accepts each node; the number makes it another module.
pub(crate) fn module(number: u32) -> Vec<u8> {
    let text = format!(
        r#"(module
        (memory (export "memory") 5)
        (data (i32.const 0) "{number}")
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
        (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
          (memory.fill (i32.const 8192) (i32.const 1) (i32.const 319488))
          (i32.const 1024)))"#
    );
    plimsoll_guests::compile("wide", &text)
}
