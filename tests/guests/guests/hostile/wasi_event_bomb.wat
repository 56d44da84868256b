;; Makes events of WASI without end, and gives none of them back.
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
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core module $m
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (func (export "score") (param i32) (result i32)
      (loop $again (drop (call $subscribe (i64.const 1))) (br $again))
      unreachable))
  (core instance $i (instantiate $m (with "" (instance (export "subscribe" (func $subscribe))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
