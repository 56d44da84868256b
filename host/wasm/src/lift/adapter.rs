//! WASI preview 1 for lifted modules: a deterministic environment that never changes.

use std::sync::OnceLock;

use super::embed::embed;
use crate::contract::RefusedError;

/// The module name under which the runtimes of languages import preview 1.
pub(super) const PREVIEW1: &str = "wasi_snapshot_preview1";

/// In the name of every interface that only the adapter imports.
pub(super) const PACKAGE: &str = "plimsoll:adapter/";

const SOURCE: &str = include_str!("adapter.wat");

/// The adapter's own imports. They are not part of the contract: a policy cannot import them by name.
const WORLD: &str = "
package plimsoll:adapter@0.1.0;
interface host {
  /// Bytes that the guest wrote to its standard output (1) or error (2).
  write: func(fd: u32, bytes: list<u8>);
  /// The guest's runtime exits; this does not return.
  exit: func(code: u32);
}
world adapter { import host; }
";

/// The adapter as a core module that carries its world.
pub(super) fn module() -> Result<&'static [u8], RefusedError> {
    static MODULE: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(module) = MODULE.get() {
        return Ok(module);
    }
    let mut module = wat::parse_str(SOURCE).map_err(|error| RefusedError::Lift(error.to_string()))?;
    embed(&mut module, WORLD, "adapter")?;
    Ok(MODULE.get_or_init(|| module))
}
