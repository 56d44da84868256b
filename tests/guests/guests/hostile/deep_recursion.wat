;; Recurses without end.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func $deeper (param $depth i32) (result i32)
    (i32.add (call $deeper (i32.add (local.get $depth) (i32.const 1))) (i32.const 1)))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (call $deeper (i32.const 0))))
