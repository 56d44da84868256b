//! Compiles modules: all code that parses their bytes, and the process in which it runs.
//!
//! ```text
//!  gateway                                        compile process (the same program)
//!  admission ── a permit, a share of memory ──┐
//!  child     ── module, settings ── stdin ────┼──> process: its limits ──> module: componentize, pre-init, compile, check
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
mod priority;
mod process;

use std::time::Duration;

use wasmtime::{Engine, component::Component};

pub(crate) use self::{
    child::ChildCompiler,
    error::CompileError,
    job::CompileJob,
    module::{CheckedComponent, check},
    priority::{Priority, SharedPriority},
};
pub use self::{
    config::{ChildConfig, Compiler},
    process::{ProcessLimits, compile_module},
};
use crate::{code::CompiledCode, componentize::ModuleKind, contract::RefusedError, progress::Progress};

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

    /// Compiles a module: the component with its code, and the time that the module waited for others. `progress` is
    /// called if it is a large one.
    pub(crate) fn compile(
        &self,
        job: CompileJob<'_>,
        kind: ModuleKind,
        engine: &Engine,
        progress: &Progress<'_>,
        priority: &SharedPriority,
    ) -> (Result<(Component, CompiledCode), CompileError>, Duration) {
        match self {
            Self::InProcess => (in_process(job, kind, engine).map_err(CompileError::from), Duration::ZERO),
            Self::Child(child) => {
                let (code, queued) = child.compile(job, progress, priority);
                (code.and_then(|code| Ok((code.load(engine)?, code))), queued)
            }
        }
    }
}

fn in_process(
    job: CompileJob<'_>,
    kind: ModuleKind,
    engine: &Engine,
) -> Result<(Component, CompiledCode), RefusedError> {
    let component = module::component(engine, job, kind)?;
    let code = CompiledCode::of(&component)?;
    Ok((component, code))
}
