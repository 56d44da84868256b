;; Wants what it reads to be written beyond its memory.
(module
  (import "plimsoll:policy/nodes@0.1.0" "name" (func $name (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const -8))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $name (local.get $node) (i32.const 64))
    (i32.const 64)))
