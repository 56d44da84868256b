;; Grows a table until it is refused.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (table $table 1 funcref)
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (loop $again
      (br_if $again (i32.ne (table.grow $table (ref.null func) (i32.const 10000)) (i32.const -1))))
    unreachable))
