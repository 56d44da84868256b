;; Two memories of 40 MiB each, where a policy gets 64 for all of them.
(component
  (core module $hoard (memory 640))
  (core instance (instantiate $hoard))
  (core instance (instantiate $hoard))
  (core module $m (func (export "score") (param i32) (result i32) (i32.const 1)))
  (core instance $i (instantiate $m))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
