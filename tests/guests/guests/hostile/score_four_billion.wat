;; Likes a node very much.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/score@0.1.0#score") (param $node i32) (result i32) (i32.const 4000000000)))
