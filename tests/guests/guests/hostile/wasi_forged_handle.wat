;; Waits for an event that it was never given.
(component
  (import "wasi:io/poll@0.2.6" (instance $io-poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $io-poll "pollable" (type $pollable))
  (core func $block (canon lower (func $io-poll "[method]pollable.block")))
  (core module $m
    (import "" "block" (func $block (param i32)))
    (func (export "score") (param i32) (result i32)
      (call $block (i32.const 77))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance (export "block" (func $block))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
