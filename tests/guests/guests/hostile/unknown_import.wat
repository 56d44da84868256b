;; A component that wants the network and the environment.
(component
  (import "wasi:sockets/tcp@0.2.0" (instance (export "connect" (func (param "port" u16)))))
  (import "wasi:cli/environment@0.2.0" (instance (export "initial-cwd" (func (result (option string)))))))
