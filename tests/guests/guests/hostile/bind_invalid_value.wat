;; Gives the pod an annotation that is not UTF-8.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\00\00\00\00\80\00\00\00\01\00\00\00")
  (data (i32.const 96) "k\ff")
  (data (i32.const 128) "\60\00\00\00\01\00\00\00\61\00\00\00\01\00\00\00")
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
