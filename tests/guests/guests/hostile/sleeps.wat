;; Waits for a clock that stands still.
(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $now (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (loop $again
      (drop (call $poll (i32.const 2048) (i32.const 3072) (i32.const 1) (i32.const 4096)))
      (drop (call $now (i32.const 1) (i64.const 1) (i32.const 4096)))
      (br_if $again (i64.le_u (i64.load (i32.const 4096)) (i64.const 1577836800000000000))))
    (i32.const 64)))
