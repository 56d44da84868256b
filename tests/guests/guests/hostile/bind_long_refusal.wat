;; Refuses with a reason of 64 KiB.
(module
  (memory (export "memory") 2)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\01\00\00\00\80\00\00\00\00\00\01\00")
  (func $start (memory.fill (i32.const 128) (i32.const 120) (i32.const 0x10000)))
  (start $start)
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
