//! Compiling a module: everything that reads its bytes, and where that happens.
//!
//! ```text
//!  gateway                                        compile process (the same program)
//!  admission ── a permit, a share of memory ──┐
//!  child     ── length, module ── stdin ──────┼──> process: own limits ──> module: lift, compile, check
//!            <─ tag, length, code or refusal ─┴─── stdout
//! ```
//!
//! A module can crash a compiler, or make it take all memory or time: by depth, by counts, by what grows
//! with the product of two sizes. No list of such modules is complete, so a process that can be lost compiles them.

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

/// The most bytes of compiled code that one module may have; large language runtimes have some 30 MiB.
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
    /// The most bytes of private memory that one compile may take.
    pub memory: u64,
    /// The longest that one compile may take.
    pub timeout: Duration,
}

/// The engine's way to compile.
pub(crate) enum Backend {
    InProcess,
    Child(Box<ChildCompiler>),
}

// === impl ChildConfig ===

impl ChildConfig {
    /// The memory of one compile if nobody says otherwise: twice what the largest known language runtime takes.
    pub const MEMORY: u64 = 1 << 30;

    /// The time of one compile if nobody says otherwise.
    pub const TIMEOUT: Duration = Duration::from_mins(1);

    /// The program that runs now, also where a newer one lies in its place by now.
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
    /// If the module is wrong, or could not be compiled now.
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
