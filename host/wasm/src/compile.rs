//! Compiles modules: all code that parses their bytes, and the process in which it runs.
//!
//! ```text
//!  gateway                                     compile process (the same program)
//!  child ── length, module ────────── stdin ───> process: its limits ──> componentize, compile, check
//!        <─ exit code, code or refusal ─ stdout ─┴
//! ```
//!
//! A module can crash a compiler, or make it use unbounded memory or time: by depth, by counts, by quadratic growth. No
//! list of such modules is complete, so they are compiled in a disposable process.

mod child;
mod process;

use std::borrow::Cow;

use plimsoll_core::LoadError;
use wasmtime::{Engine, component::Component};

pub use self::{
    child::ChildConfig,
    process::{ProcessLimits, compile_module},
};
use crate::{
    code::CompiledCode,
    componentize::{self, ModuleKind},
    contract::RefusedError,
};

/// Where modules are parsed and compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process, without bounds: [`EngineConfig::in_process`](crate::EngineConfig::in_process) alone makes it.
    #[non_exhaustive]
    InProcess,
    /// Each in a separate process.
    Child(ChildConfig),
}

// === impl Compiler ===

impl Compiler {
    /// Compiles a module: the component with its code.
    ///
    /// # Errors
    /// If the module is refused, or its compile was stopped.
    pub(crate) fn compile(
        &self,
        module: &[u8],
        kind: ModuleKind,
        engine: &Engine,
    ) -> Result<(Component, CompiledCode), LoadError> {
        match self {
            Self::InProcess => {
                let component = component(engine, module, kind)?;
                let code = CompiledCode::of(&component)?;
                Ok((component, code))
            }
            Self::Child(config) => {
                let code = child::compile(config, module)?;
                Ok((code.load(engine)?, code))
            }
        }
    }
}

/// Makes a core module a component, and compiles it.
fn component(engine: &Engine, module: &[u8], kind: ModuleKind) -> Result<Component, RefusedError> {
    let component = match kind {
        ModuleKind::CoreModule => Cow::Owned(componentize::componentize(module)?),
        ModuleKind::Component => Cow::Borrowed(module),
    };
    Component::from_binary(engine, &component).map_err(|error| RefusedError::of_wasmtime(&error))
}
