;; Wants to evict 60,000 pods of each node: 240 KB, which may be handed over once.
(module
  (memory (export "memory") 8)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\02\00\00\00\80\00\00\00\60\ea\00\00")
  (func (export "plimsoll:policy/preempt@0.1.0#preempt") (param $candidate i32) (result i32) (i32.const 64)))
