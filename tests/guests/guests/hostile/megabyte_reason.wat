;; Gives a reason of a megabyte for each node.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\01\00\00\00\80\00\00\00\00\00\0f\00")
  (func $start (drop (memory.grow (i32.const 16))) (memory.fill (i32.const 128) (i32.const 120) (i32.const 0xf0000)))
  (start $start)
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (i32.const 64)))
