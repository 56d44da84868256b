;; Gives the pod annotations that lie beyond its memory.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\00\00\00\00\f0\ff\00\00\02\00\00\00")
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
