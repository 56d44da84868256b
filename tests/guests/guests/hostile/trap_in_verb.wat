;; Divides by zero, two functions deep.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func $share (param $by i32) (result i32) (i32.div_u (i32.const 64) (local.get $by)))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (call $share (i32.const 0))))
