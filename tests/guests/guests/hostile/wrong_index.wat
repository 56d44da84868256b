;; Reads a label of a node that the request does not have.
(module
  (import "plimsoll:policy/nodes@0.1.0" "label" (func $label (param i32 i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $label (i32.const 5000000) (i32.const 0) (i32.const 4) (i32.const 64))
    (i32.const 64)))
