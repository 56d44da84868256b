//! Compiles modules: all code that parses their bytes, and the process in which it runs.
//!
//! ```text
//!  gateway                                        compile process (the same program)
//!  admission ── a permit, a share of memory ──┐
//!  child     ── length, module ── stdin ──────┼──> process: own limits ──> module: lift, compile, check
//!            <─ tag, length, code or refusal ─┴─── stdout
//! ```
//!
//! A module can crash a compiler, or make it use unbounded memory or time: by depth, by counts, by quadratic growth. No
//! list of such modules is complete, so they are compiled in a disposable process.

mod admission;
mod answer;
mod child;
mod error;
mod module;
mod nesting;
mod process;

use std::{path::PathBuf, time::Duration};

use wasmtime::{Engine, component::Component};

pub use self::process::{ProcessLimits, compile_module};
pub(crate) use self::{
    child::ChildCompiler,
    error::CompileError,
    module::{CheckedComponent, check},
};
use crate::{code::CompiledCode, lift::ModuleKind};

/// Maximum bytes of compiled code of one module; large language runtimes have about 30 MiB.
pub(crate) const MAX_CODE_BYTES: usize = 128 << 20;

/// Where modules are parsed and compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process, without bounds: [`EngineConfig::in_process`](crate::EngineConfig::in_process) alone makes it.
    #[non_exhaustive]
    InProcess,
    /// Each in a process of its own.
    Child(ChildConfig),
}

/// The program that compiles, and its bounds.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// A program that calls [`compile_module`] when its first argument is `compile-module`.
    pub program: PathBuf,
    /// Maximum bytes of private memory of one compile.
    pub memory: u64,
    /// Maximum time of one compile.
    pub timeout: Duration,
}

/// The compiler that the engine uses.
pub(crate) enum Backend {
    InProcess,
    Child(Box<ChildCompiler>),
}

// === impl ChildConfig ===

impl ChildConfig {
    /// Default memory of one compile: twice the need of the largest known language runtime.
    pub const MEMORY: u64 = 1 << 30;

    /// Default time of one compile.
    pub const TIMEOUT: Duration = Duration::from_mins(1);

    /// The running executable, even if its file was replaced since.
    pub fn this_program() -> Self {
        Self::of("/proc/self/exe")
    }

    /// Another program, with the default bounds.
    pub fn of(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), memory: Self::MEMORY, timeout: Self::TIMEOUT }
    }
}

// === impl Backend ===

impl Backend {
    pub(crate) fn new(compiler: Compiler) -> Self {
        match compiler {
            Compiler::InProcess => Self::InProcess,
            Compiler::Child(config) => Self::Child(Box::new(ChildCompiler::new(config))),
        }
    }

    /// The compiled module, and its code to be kept; `queued` grows by the time in which it waited for others.
    ///
    /// # Errors
    /// If the module is invalid, or could not be compiled now.
    pub(crate) fn compile(
        &self,
        module: &[u8],
        kind: ModuleKind,
        engine: &Engine,
        queued: &mut Duration,
    ) -> Result<(Component, CompiledCode), CompileError> {
        let code = match self {
            Self::InProcess => {
                let component = module::component(engine, module, kind)?;
                let code = CompiledCode::of(&component)?;
                return Ok((component, code));
            }
            Self::Child(child) => child.compile(module, queued)?,
        };
        Ok((code.load(engine)?, code))
    }
}
