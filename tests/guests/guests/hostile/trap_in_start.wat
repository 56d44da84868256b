;; Cannot be started.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func $start unreachable)
  (start $start)
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (i32.const 64)))
