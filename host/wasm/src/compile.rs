//! Compiles modules: all code that parses their bytes, and the process in which it runs.
//!
//! ```text
//!  gateway                                        compile process (the same program)
//!  admission ── a permit, a share of memory ──┐
//!  child     ── module, settings ── stdin ────┼──> process: own limits ──> module: lift, pre-initialise, compile, check
//!            <─ tag, length, code or refusal ─┴─── stdout
//! ```
//!
//! A module can crash a compiler, or make it use unbounded memory or time: by depth, by counts, by quadratic growth. No
//! list of such modules is complete, so they are compiled in a disposable process.

mod admission;
mod answer;
mod child;
mod config;
mod error;
mod job;
mod module;
mod nesting;
mod preinit;
mod process;
mod wait;

use wasmtime::{Engine, component::Component};

pub(crate) use self::{
    child::ChildCompiler,
    error::CompileError,
    job::CompileJob,
    module::{CheckedComponent, check},
    wait::{CompileWait, Priority, SharedPriority},
};
pub use self::{
    config::{ChildConfig, Compiler},
    process::{ProcessLimits, compile_module},
};
use crate::{code::CompiledCode, lift::ModuleKind, progress::Progress};

/// The compiler that the engine uses.
pub(crate) enum Backend {
    InProcess,
    Child(Box<ChildCompiler>),
}

// === impl Backend ===

impl Backend {
    pub(crate) fn new(compiler: Compiler) -> Self {
        match compiler {
            Compiler::InProcess => Self::InProcess,
            Compiler::Child(config) => Self::Child(Box::new(ChildCompiler::new(config))),
        }
    }

    /// The compiled module, and its code to be kept; `progress` is called if it is a large one, and `wait` takes the time
    /// that it waited for others.
    ///
    /// # Errors
    /// If the module is invalid, or could not be compiled now.
    pub(crate) fn compile(
        &self,
        job: CompileJob<'_>,
        kind: ModuleKind,
        engine: &Engine,
        progress: &Progress<'_>,
        wait: &mut CompileWait,
    ) -> Result<(Component, CompiledCode), CompileError> {
        let code = match self {
            Self::InProcess => {
                let component = module::component(engine, job, kind)?;
                let code = CompiledCode::of(&component)?;
                return Ok((component, code));
            }
            Self::Child(child) => child.compile(job, progress, wait)?,
        };
        Ok((code.load(engine)?, code))
    }
}
