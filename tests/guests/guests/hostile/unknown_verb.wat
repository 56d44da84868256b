;; Has a verb that the contract does not have.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/bless@0.1.0#bless") (param $node i32) (result i32) (i32.const 64)))
