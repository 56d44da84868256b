;; Asks for more random bytes than any memory has.
(component
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
  (core module $libc
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $memory))
  (alias core export $libc "realloc" (core func $realloc))
  (core func $random (canon lower (func $random "get-random-bytes")
    (memory $memory) (realloc $realloc)))
  (core module $m
    (import "" "random" (func $random (param i64 i32)))
    (func (export "score") (param i32) (result i32)
      (call $random (i64.const -1) (i32.const 64))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance (export "random" (func $random))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
