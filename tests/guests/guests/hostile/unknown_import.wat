;; A component that wants a database, and a version of WASI that is not known yet.
(component
  (import "acme:database/rows@1.0.0" (instance (export "count" (func (result u32)))))
  (import "wasi:cli/stdout@0.2.0" (instance))
  (import "wasi:cli/environment@0.4.0" (instance (export "initial-cwd" (func (result (option string)))))))
