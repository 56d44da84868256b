;; Asks for a label whose key is not UTF-8.
(module
  (import "plimsoll:policy/nodes@0.1.0" "label" (func $label (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 128) "\ff\ff")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $label (local.get $node) (i32.const 128) (i32.const 2) (i32.const 64))
    (i32.const 64)))
