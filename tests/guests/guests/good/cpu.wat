;; Refuses nodes on which less CPU is free than the pod requests.
(module
  (import "plimsoll:policy/nodes@0.1.0" "requested" (func $requested (param i32 i32 i32 i32)))
  (import "plimsoll:policy/nodes@0.1.0" "allocatable" (func $allocatable (param i32 i32 i32) (result i64)))
  (import "plimsoll:policy/pod@0.1.0" "request" (func $request (param i32 i32) (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 16) "cpu")
  (data (i32.const 32) "not enough cpu")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (call $requested (local.get $node) (i32.const 16) (i32.const 3) (i32.const 64))
    (if (i32.eqz (i32.load8_u (i32.const 64))) (then unreachable))
    (i32.store8 (i32.const 128) (i64.gt_s
      (i64.add (i64.load (i32.const 72)) (call $request (i32.const 16) (i32.const 3)))
      (call $allocatable (local.get $node) (i32.const 16) (i32.const 3))))
    (i32.store (i32.const 132) (i32.const 32))
    (i32.store (i32.const 136) (i32.const 14))
    (i32.const 128)))
