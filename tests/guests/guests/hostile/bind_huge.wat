;; Gives the pod three million annotations.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\00\00\00\00\00\08\00\00\c0\c6\2d\00")
  (func $start (drop (memory.grow (i32.const 960))))
  (start $start)
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
