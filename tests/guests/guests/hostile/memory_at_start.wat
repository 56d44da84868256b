;; Declares 128 MiB, where a policy gets 64.
(module
  (memory (export "memory") 2048)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32) (i32.const 64)))
