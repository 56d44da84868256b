;; Wants to evict nobody at all instead.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\02")
  (func (export "plimsoll:policy/preempt@0.1.0#preempt") (param $candidate i32) (result i32) (i32.const 64)))
