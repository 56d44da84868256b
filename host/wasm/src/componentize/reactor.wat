;; The part of WASI preview 1 for a policy that exports verbs: it has one argument, and its standard output and standard
;; error become log lines.

  (import "plimsoll:adapter/host@0.1.0" "write" (func $write (param $fd i32) (param $at i32) (param $len i32)))
  (import "plimsoll:adapter/host@0.1.0" "exit" (func $exit (param $code i32)))
  (import "env" "memory" (memory 0))

  (func (export "args_sizes_get") (param $count i32) (param $size i32) (result i32)
    (i32.store (local.get $count) (i32.const 1))
    (i32.store (local.get $size) (i32.const 7))
    (i32.const 0))
  ;; Programs read their own name as they start: it is "policy".
  (func (export "args_get") (param $argv i32) (param $text i32) (result i32)
    (i32.store (local.get $argv) (local.get $text))
    (i32.store align=1 (local.get $text) (i32.const 0x696c6f70))           ;; "poli"
    (i32.store16 offset=4 align=1 (local.get $text) (i32.const 0x7963))    ;; "cy"
    (i32.store8 offset=6 (local.get $text) (i32.const 0))
    (i32.const 0))
  (func (export "fd_fdstat_get") (param i32 i32) (result i32) (i32.const 8))
  (func (export "fd_read") (param i32 i32 i32 i32) (result i32) (i32.const 8))
