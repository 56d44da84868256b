;; Begins a request over the network.
(component
  (import "wasi:http/types@0.2.10" (instance $http
    (export "fields" (type $fields (sub resource)))
    (export "[constructor]fields" (func (result (own $fields))))))
  (core func $fields (canon lower (func $http "[constructor]fields")))
  (core module $m
    (import "" "fields" (func $fields (result i32)))
    (func (export "score") (param i32) (result i32) (call $fields)))
  (core instance $i (instantiate $m (with "" (instance (export "fields" (func $fields))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
