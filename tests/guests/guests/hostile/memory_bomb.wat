;; Grows until it is refused, and then dies as an allocator does.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
    (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    unreachable))
