//! Where the rule of a policy is, and the module that interprets rules.

use std::{path::PathBuf, sync::LazyLock};

use plimsoll_core::Module;
use plimsoll_system::digest::sha256;

static CEL_INTERPRETER: LazyLock<Module> =
    LazyLock::new(|| Module::new(include_bytes!("../../../plugin-sdk/cel/cel.wasm").to_vec(), sha256));

/// Where the rule of a policy is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In a module.
    Module(PathBuf),
    /// In its sidecar, in CEL.
    Cel,
}

impl Source {
    /// The module with the rule.
    pub(crate) fn module(&self) -> Option<PathBuf> {
        match self {
            Self::Module(path) => Some(path.clone()),
            Self::Cel => None,
        }
    }
}

/// The module within this program that interprets rules in CEL.
pub(crate) fn cel_interpreter() -> Module {
    CEL_INTERPRETER.clone()
}
