//! Versions of a policy, made as they are needed.

use std::fmt::Write as _;

use anyhow::Result;

/// The module of a policy that rejects every node with this reason.
pub fn version(reason: &str) -> Result<Vec<u8>> {
    with_functions(reason, 0)
}

/// The module of a policy that traps for pods with a priority, so that it passes the trial.
pub fn failing() -> Result<Vec<u8>> {
    let text = r#"(module
        (import "plimsoll:policy/pod@0.1.0" "priority" (func $priority (result i32)))
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
        (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
          (if (call $priority) (then unreachable)) (i32.const 0)))"#;
    Ok(wat::parse_str(text)?)
}

/// The module of a policy that does this (WebAssembly text) whatever it is asked.
pub fn doing(body: &str) -> Result<Vec<u8>> {
    let text = format!(
        r#"(module
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32) {body}))"#
    );
    Ok(wat::parse_str(text)?)
}

/// As [`version`] with more functions, which take time to compile and are never called.
pub fn with_functions(reason: &str, count: usize) -> Result<Vec<u8>> {
    let length = reason.len();
    let mut text = format!(
        r#"(module
          (memory (export "memory") 1)
          (data (i32.const 1024) "{reason}")
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
            (i32.store8 (i32.const 0) (i32.const 1))
            (i32.store (i32.const 4) (i32.const 1024))
            (i32.store (i32.const 8) (i32.const {length}))
            (i32.const 0))"#
    );
    for number in 0..count {
        let mut body = String::from("(local.get 0)");
        for step in 0..40 {
            body =
                format!("(i32.mul (i32.xor {body} (i32.const {})) (i32.load (i32.const {})))", number + step, step * 4);
        }
        write!(text, "(func (param i32) (result i32) {body})")?;
    }
    text.push(')');
    Ok(wat::parse_str(text)?)
}
