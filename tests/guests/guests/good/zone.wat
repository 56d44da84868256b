;; A core module as a compiler makes it: imports and exports carry the canonical names, and the host makes it a component.
;; A node fits if its label `zone` is `a`.
(module
  (import "plimsoll:policy/nodes@0.1.0" "label" (func $label (param $node i32) (param $key i32) (param $len i32) (param $ret i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "zone")
  (data (i32.const 16) "not in zone a")
  (data (i32.const 32) "no zone")
  (global $top (mut i32) (i32.const 1024))

  ;; Bumps; every verb starts afresh.
  (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.and (i32.add (i32.add (local.get $at) (local.get $size)) (i32.const 7)) (i32.const -8)))
    (local.get $at))

  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (global.set $top (i32.const 1024))
    (call $label (local.get $node) (i32.const 0) (i32.const 4) (i32.const 64))
    (if (i32.eqz (i32.load8_u (i32.const 64)))
      (then (return (call $verdict (i32.const 2) (i32.const 32) (i32.const 7)))))
    (if (i32.and
          (i32.eq (i32.load (i32.const 72)) (i32.const 1))
          (i32.eq (i32.load8_u (i32.load (i32.const 68))) (i32.const 97)))
      (then (return (call $verdict (i32.const 0) (i32.const 0) (i32.const 0)))))
    (call $verdict (i32.const 1) (i32.const 16) (i32.const 13)))

  (func $verdict (param $case i32) (param $text i32) (param $len i32) (result i32)
    (i32.store8 (i32.const 128) (local.get $case))
    (i32.store (i32.const 132) (local.get $text))
    (i32.store (i32.const 136) (local.get $len))
    (i32.const 128)))
