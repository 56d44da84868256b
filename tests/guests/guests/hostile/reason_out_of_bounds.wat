;; Its reason lies beyond its memory.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\01\00\00\00\f0\ff\ff\ff\20\00\00\00")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (i32.const 64)))
