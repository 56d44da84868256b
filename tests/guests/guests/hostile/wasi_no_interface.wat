;; Imports a function where WASI has an interface.
(component
  (import "wasi:clocks/monotonic-clock@0.2.0" (func $now (result u64)))
  (core module $m (func (export "score") (param i32) (result i32) (i32.const 1)))
  (core instance $i (instantiate $m))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
