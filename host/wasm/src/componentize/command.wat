;; The part of WASI preview 1 for a program: it has two arguments, reads a request from standard input, writes its answer
;; to standard output and log lines to standard error.

  (import "plimsoll:adapter/host@0.1.0" "write" (func $write (param $fd i32) (param $at i32) (param $len i32)))
  (import "plimsoll:adapter/host@0.1.0" "exit" (func $exit (param $code i32)))
  (import "plimsoll:adapter/host@0.1.0" "read" (func $read (param $most i32) (param $ret i32)))
  (import "plimsoll:adapter/host@0.1.0" "verb" (func $verb (param $word i32) (result i64)))
  (import "env" "memory" (memory 0))
  (import "__main_module__" "_start" (func $start))

  (func (export "plimsoll:adapter/program@0.1.0#run") (call $start))

  ;; "policy" and the verb, of at most 15 bytes.
  (func (export "args_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 2))
    (i32.store (local.get $size) (i32.const 23))
    (i32.const 0))
  (func (export "args_get") (param $argv i32) (param $text i32) (result i32)
    (i32.store (local.get $argv) (local.get $text))
    (i32.store offset=4 (local.get $argv) (i32.add (local.get $text) (i32.const 7)))
    (i32.store align=1 (local.get $text) (i32.const 0x696c6f70))           ;; "poli"
    (i32.store16 offset=4 align=1 (local.get $text) (i32.const 0x7963))    ;; "cy"
    (i32.store8 offset=6 (local.get $text) (i32.const 0))
    (i64.store offset=7 align=1 (local.get $text) (call $verb (i32.const 0)))
    (i64.store offset=15 align=1 (local.get $text) (call $verb (i32.const 1)))
    (i32.const 0))

  ;; A stream of an unknown type that can be read and written.
  (func (export "fd_fdstat_get") (param $fd i32) (param $ret i32) (result i32)
    (if (i32.gt_u (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
    (i64.store align=4 (local.get $ret) (i64.const 0))
    (i64.store offset=8 align=4 (local.get $ret) (i64.const 0x42))         ;; fd_read and fd_write
    (i64.store offset=16 align=4 (local.get $ret) (i64.const 0))
    (i32.const 0))

  ;; Where the host is to write the bytes that it is asked for.
  (global $target (mut i32) (i32.const 0))
  (func (export "cabi_import_realloc") (param i32 i32 i32 i32) (result i32) (global.get $target))

  ;; The host returns a place and a length, for which the vector itself has room: it is as it was afterwards.
  (func (export "fd_read") (param $fd i32) (param $iov i32) (param $count i32) (param $ret i32) (result i32)
    (local $sum i32) (local $most i32) (local $got i32)
    (if (local.get $fd) (then (return (i32.const 8))))
    (block $end (loop $next
      (br_if $end (i32.eqz (local.get $count)))
      (global.set $target (i32.load (local.get $iov)))
      (local.set $most (i32.load offset=4 (local.get $iov)))
      (call $read (local.get $most) (local.get $iov))
      (local.set $got (i32.load offset=4 (local.get $iov)))
      (i32.store (local.get $iov) (global.get $target))
      (i32.store offset=4 (local.get $iov) (local.get $most))
      (local.set $sum (i32.add (local.get $sum) (local.get $got)))
      (br_if $end (i32.lt_u (local.get $got) (local.get $most)))
      (local.set $iov (i32.add (local.get $iov) (i32.const 8)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next)))
    (i32.store (local.get $ret) (local.get $sum))
    (i32.const 0))
