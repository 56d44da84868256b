;; Traps as soon as it has read the pod: a trial call cannot tell that it does so for every pod.
(module
  (import "plimsoll:policy/pod@0.1.0" "priority" (func $priority (result i32)))
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param i32) (result i32)
    (drop (call $priority)) unreachable))
