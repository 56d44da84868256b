;; Makes handles of a resource of its own without end.
(component
  (type $r (resource (rep i32)))
  (core func $new (canon resource.new $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (func (export "score") (param i32) (result i32)
      (loop $again (drop (call $new (i32.const 1))) (br $again))
      unreachable))
  (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
