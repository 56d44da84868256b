;; Its runtime writes why and ends the process, as that of Go does after a panic.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 128) "\00\02\00\00\1a\00\00\00")
  (data (i32.const 512) "panic: index out of range\0a")
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (drop (call $write (i32.const 2) (i32.const 128) (i32.const 1) (i32.const 256)))
    (call $exit (i32.const 2))
    unreachable))
