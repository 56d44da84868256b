;; Reads while the host is writing what it read.
(module
  (import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
  (import "plimsoll:policy/nodes@0.1.0" "name" (func $name (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (call $count))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $name (local.get $node) (i32.const 64))
    (i32.const 64)))
