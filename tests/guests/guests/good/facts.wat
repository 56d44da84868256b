;; A core module that reads facts from outside. Its score is the load of a node in hundredths, 50 where there is none; a node
;; fits unless the source `calendar` has a text for `today`, which is the reason.
(module
  (import "plimsoll:policy/facts@0.1.0" "node-number" (func $node-number (param $node i32) (param $source i32) (param $len i32) (param $ret i32)))
  (import "plimsoll:policy/facts@0.1.0" "text" (func $text (param $source i32) (param $len i32) (param $key i32) (param $key-len i32) (param $ret i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "load")
  (data (i32.const 16) "calendar")
  (data (i32.const 32) "today")
  (global $top (mut i32) (i32.const 1024))

  (func (export "cabi_realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $top))
    (global.set $top (i32.and (i32.add (i32.add (local.get $at) (local.get $size)) (i32.const 7)) (i32.const -8)))
    (local.get $at))

  (func (export "plimsoll:policy/score@0.1.0#score") (param $node i32) (result i32)
    (call $node-number (local.get $node) (i32.const 0) (i32.const 4) (i32.const 64))
    (if (i32.eqz (i32.load8_u (i32.const 64))) (then (return (i32.const 50))))
    (i32.trunc_f64_u (f64.mul (f64.load (i32.const 72)) (f64.const 100))))

  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (global.set $top (i32.const 1024))
    (call $text (i32.const 16) (i32.const 8) (i32.const 32) (i32.const 5) (i32.const 64))
    ;; `unschedulable` has the number 1, as the tag of a text that is there.
    (i32.store8 (i32.const 128) (i32.load8_u (i32.const 64)))
    (i32.store (i32.const 132) (i32.load (i32.const 68)))
    (i32.store (i32.const 136) (i32.load (i32.const 72)))
    (i32.const 128)))
