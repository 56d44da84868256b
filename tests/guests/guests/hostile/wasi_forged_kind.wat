;; Writes to an event as if it were a stream.
(component
  (import "wasi:io/poll@0.2.6" (instance $io-poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $io-poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.6" (instance $clock
    (alias outer 1 $pollable (type $theirs))
    (export "pollable" (type $pollable (eq $theirs)))
    (export "now" (func (result u64)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
  (import "wasi:io/error@0.2.6" (instance $io-error (export "error" (type $error (sub resource)))))
  (alias export $io-error "error" (type $error))
  (import "wasi:io/streams@0.2.6" (instance $streams
    (alias outer 1 $error (type $their-error))
    (export "error" (type $error (eq $their-error)))
    (export "output-stream" (type $output (sub resource)))
    (type $failure-cases (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $failure (eq $failure-cases)))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $output)) (param "contents" (list u8)) (result (result (error $failure)))))))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:cli/stdout@0.2.6" (instance $stdout
    (alias outer 1 $output (type $theirs))
    (export "output-stream" (type $output (eq $theirs)))
    (export "get-stdout" (func (result (own $output))))))
  (core module $libc
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $libc (instantiate $libc))
  (alias core export $libc "memory" (core memory $memory))
  (core func $get (canon lower (func $stdout "get-stdout")))
  (core func $write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory $memory)))
  (core func $subscribe (canon lower (func $clock "subscribe-duration")))
  (core module $m
    (import "" "subscribe" (func $subscribe (param i64) (result i32)))
    (import "" "write" (func $write (param i32 i32 i32 i32)))
    (func (export "score") (param i32) (result i32)
      (call $write (call $subscribe (i64.const 1)) (i32.const 0) (i32.const 1) (i32.const 64))
      (i32.const 1)))
  (core instance $i (instantiate $m (with "" (instance
    (export "subscribe" (func $subscribe)) (export "write" (func $write))))))
  (func $score (param "node" u32) (result u32) (canon lift (core func $i "score")))
  (instance $verb (export "score" (func $score)))
  (export "plimsoll:policy/score@0.1.0" (instance $verb)))
