//! WASI preview 1 for core modules: a deterministic environment that never changes.

use std::sync::OnceLock;

use super::embed;
use crate::contract::RefusedError;

/// In the name of every interface that only the adapter imports or exports.
pub(super) const PACKAGE: &str = "plimsoll:adapter/";

/// The functions of both adapters.
const SHARED: &str = include_str!("adapter.wat");

/// The adapter's imports and exports. They are not part of the contract: a policy cannot import them by name.
const WORLDS: &str = "
package plimsoll:adapter@0.1.0;
interface host {
  /// Bytes that the guest wrote to its standard output (1) or error (2).
  write: func(fd: u32, bytes: list<u8>);
  /// The guest ends by itself; this does not return.
  exit: func(code: u32);
  /// The next bytes of a program's standard input; none at its end.
  read: func(most: u32) -> list<u8>;
  /// Eight bytes of the verb that a program is asked: the first ones (0) or those after them (1), filled up with zeros.
  verb: func(word: u32) -> u64;
}
interface program {
  /// Runs the program to its end.
  run: func();
}
world reactor { import host; }
world command { import host; export program; }
";

/// The module that implements preview 1 for one kind of module.
pub(super) struct Adapter {
    world: &'static str,
    source: &'static str,
    module: OnceLock<Vec<u8>>,
}

/// For a policy that exports verbs.
pub(super) static REACTOR: Adapter = Adapter::new("reactor", include_str!("reactor.wat"));

/// For a program that runs once per call.
pub(super) static COMMAND: Adapter = Adapter::new("command", include_str!("command.wat"));

// === impl Adapter ===

impl Adapter {
    const fn new(world: &'static str, source: &'static str) -> Self {
        Self { world, source, module: OnceLock::new() }
    }

    /// The adapter as a core module that carries its world.
    pub(super) fn module(&self) -> Result<&[u8], RefusedError> {
        if let Some(module) = self.module.get() {
            return Ok(module);
        }
        let text = format!("(module\n{}\n{SHARED})", self.source);
        let mut module = wat::parse_str(text).map_err(|error| RefusedError::Componentize(error.to_string()))?;
        embed(&mut module, WORLDS, self.world)?;
        Ok(self.module.get_or_init(|| module))
    }
}
