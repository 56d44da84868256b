;; Ranks 15 million nodes.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\80\00\00\00\c0\e1\e4\00")
  (func $start (drop (memory.grow (i32.const 960))))
  (start $start)
  (func (export "plimsoll:policy/rank@0.1.0#rank") (result i32) (i32.const 64)))
