;; A component for WASI 0.3, whose functions are asynchronous.
(component
  (import "wasi:cli/stdout@0.3.0" (instance
    (export "write-via-stream" (func (param "data" (stream u8))))))
  (core module $m (func (export "score") (param i32) (result i32) (i32.const 1)))
  (core instance $i (instantiate $m))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
