//! Why a module was not compiled.

use std::{io, time::Duration};

use plimsoll_core::{LoadError, bounded, one_line};

use crate::contract::RefusedError;

/// The most bytes of a refusal: names in it come from the module.
const MAX_TEXT_BYTES: usize = 2048;

/// Why there is no compiled module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompileError {
    #[error(transparent)]
    Refused(#[from] RefusedError),
    /// A refusal, as the compile process wrote it.
    #[error("{0}")]
    RefusedByChild(String),
    #[error(transparent)]
    Stopped(#[from] StoppedError),
}

/// Why a compile ended without an answer about the module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoppedError {
    #[error("compiling it was stopped after {} s: raise --compile-timeout if the module is sound", .0.as_secs_f32())]
    Time(Duration),
    #[error("compiling it took more than {} MiB of memory: raise --compile-memory if the module is sound", mebi(*.0))]
    Memory(u64),
    #[error(
        "compiling it may take {} MiB of memory, of which the container's limit leaves {} MiB: raise the memory limit of the container",
        mebi(*needed), mebi(*left)
    )]
    NoMemoryLeft { needed: u64, left: u64 },
    #[error("the module is nested too deeply for the compiler, whose stack overflowed")]
    Stack,
    #[error("the compiler failed on it, by a fault of its own: {0}")]
    Panic(String),
    #[error("the process that compiles could not be started: {0}")]
    Start(#[source] io::Error),
    #[error("the process that compiles ended without an answer: {0}")]
    Ended(String),
}

// === impl CompileError ===

impl CompileError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Refused(_) | Self::RefusedByChild(_) => false,
            // A stack has the same size in every process, and a fault of the compiler is the same each time.
            Self::Stopped(stopped) => !matches!(stopped, StoppedError::Stack | StoppedError::Panic(_)),
        }
    }
}

impl From<CompileError> for LoadError {
    fn from(error: CompileError) -> Self {
        let text = harmless(&error.to_string());
        if error.is_transient() { Self::transient(text) } else { Self::permanent(text) }
    }
}

/// A text that may quote a module: on one line, and not long.
pub(super) fn harmless(text: &str) -> String {
    one_line(bounded(text, MAX_TEXT_BYTES))
}

/// Whether the text tells of a lack of memory or threads rather than of the module.
pub(super) fn is_shortage(text: &str) -> bool {
    ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"]
        .iter()
        .any(|sign| text.contains(sign))
}

fn mebi(bytes: u64) -> u64 {
    bytes >> 20
}
