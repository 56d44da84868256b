;; A component that imports what only the host's own adapter may.
(component
  (import "plimsoll:adapter/host@0.1.0" (instance (export "exit" (func (param "code" u32))))))
