;; A core module that imports from outside the contract.
(module
  (import "env" "connect" (func $connect (param i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (call $connect (local.get $node))))
