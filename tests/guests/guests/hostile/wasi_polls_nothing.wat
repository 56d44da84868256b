;; Waits for the first of no events.
(component
  (import "wasi:io/poll@0.2.6" (instance $io-poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $io-poll "pollable" (type $pollable))
  (core module $libc
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $memory))
  (alias core export $libc "realloc" (core func $realloc))
  (core func $poll (canon lower (func $io-poll "poll") (memory $memory) (realloc $realloc)))
  (core module $m
    (import "" "poll" (func $poll (param i32 i32 i32)))
    (func (export "score") (param i32) (result i32)
      (call $poll (i32.const 0) (i32.const 0) (i32.const 64))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance (export "poll" (func $poll))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
