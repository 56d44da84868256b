;; A component with asynchronous functions.
(component
  (import "wasi:cli/stdout@0.2.0" (instance))
  (core func (canon backpressure.inc))
  (core module $m (func (export "score") (param i32) (result i32) (i32.const 1)))
  (core instance $i (instantiate $m))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
