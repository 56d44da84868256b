//! Where modules are compiled, and the bounds of it.

use std::{path::PathBuf, time::Duration};

/// Where modules are parsed and compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process, without bounds: [`EngineConfig::in_process`](crate::EngineConfig::in_process) alone makes it.
    #[non_exhaustive]
    InProcess,
    /// Each in a separate process.
    Child(ChildConfig),
}

/// The program that compiles, and its bounds.
#[derive(Debug, Clone)]
pub struct ChildConfig {
    /// A program that calls [`compile_module`](crate::compile_module) when its first argument is `compile-module`.
    pub program: PathBuf,
    /// Maximum bytes of private memory of one compile.
    pub memory: u64,
    /// Maximum time of one compile.
    pub timeout: Duration,
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
