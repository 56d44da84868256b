;; Writes its whole memory to standard output, again and again.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 128) "\00\00\00\00\00\00\01\00")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (loop $again
      (drop (call $write (i32.const 1) (i32.const 128) (i32.const 1) (i32.const 256)))
      (br $again))
    unreachable))
