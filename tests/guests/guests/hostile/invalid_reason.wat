;; Its reason is not UTF-8.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\01\00\00\00\80\00\00\00\04\00\00\00")
  (data (i32.const 128) "\ff\fe\c0\80")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (i32.const 64)))
