;; A component whose score is a float.
(component
  (core module $m (func (export "score") (param i32) (result f32) (f32.const 99.5)))
  (core instance $i (instantiate $m))
  (func $score (param "node" u32) (result f32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
