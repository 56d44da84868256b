;; Makes the pod a mirror of the kubelet's own.
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
  (data (i32.const 64) "\00\00\00\00\80\00\00\00\01\00\00\00")
  (data (i32.const 128) "\a0\00\00\00\1b\00\00\00\a0\00\00\00\01\00\00\00")
  (data (i32.const 160) "kubernetes.io/config.mirror")
  (func (export "plimsoll:policy/bind@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))
