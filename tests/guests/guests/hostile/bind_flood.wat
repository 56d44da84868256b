;; Gives the pod 65 annotations, all of them the same.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\00\00\00\00\00\08\00\00\41\00\00\00")
  (data (i32.const 96) "k")
  (func $start (local $at i32)
    (local.set $at (i32.const 2048))
    (loop $next
      (i32.store (local.get $at) (i32.const 96))
      (i32.store offset=4 (local.get $at) (i32.const 1))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 4096)))))
  (start $start)
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
