;; Says that it cannot go on, over two lines and with a colour.
(module
  (import "plimsoll:policy/host@0.1.0" "panic" (func $panic (param i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 128) "no device\0ais \1b[31mleft")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $panic (i32.const 128) (i32.const 24))
    (i32.const 64)))
