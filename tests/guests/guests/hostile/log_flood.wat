;; Writes log lines of 60 kB and never stops.
(module
  (import "plimsoll:policy/host@0.1.0" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (memory.fill (i32.const 1024) (i32.const 120) (i32.const 60000))
    (loop $again
      (call $log (i32.const 3) (i32.const 1024) (i32.const 60000))
      (br $again))
    unreachable))
