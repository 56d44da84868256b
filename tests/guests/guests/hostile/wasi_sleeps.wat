;; Waits for a clock of WASI that stands still.
(component
  (import "wasi:io/poll@0.2.6" (instance $io-poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $io-poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock
    (alias outer 1 $pollable (type $theirs))
    (export "pollable" (type $pollable (eq $theirs)))
    (export "now" (func (result u64)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (core func $now (canon lower (func $clock "now")))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $io-poll "[method]pollable.block")))
  (core module $m
    (import "" "now" (func $now (result i64)))
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "" "block" (func $block (param i32)))
    (func (export "score") (param i32) (result i32) (local $event i32)
      (local.set $event (call $subscribe (i64.const 1)))
      (loop $again
        (call $block (local.get $event))
        (br_if $again (i64.le_u (call $now) (i64.const 1577836800000000000))))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance
    (export "now" (func $now)) (export "subscribe" (func $subscribe)) (export "block" (func $block))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
