//! Why a module was not compiled.

use std::{io, time::Duration};

use plimsoll_core::{LoadError, bounded, one_line};

use crate::contract::RefusedError;

/// Maximum bytes of a refusal: it quotes names of the module.
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
            Self::Refused(refused) => matches!(refused, RefusedError::Shortage(_)),
            Self::RefusedByChild(_) => false,
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

/// Sanitizes a text that may quote a module: one line, bounded in length.
pub(super) fn harmless(text: &str) -> String {
    one_line(bounded(text, MAX_TEXT_BYTES)).into_owned()
}

/// Whether a process that ended without an answer says on standard error that it lacked memory or threads.
///
/// Only lines as Rust's runtime writes them count: a panic may quote a name of the module in its midst.
pub(super) fn is_shortage(last_words: &str) -> bool {
    let of_allocator = |line: &str| line.starts_with("memory allocation of ") && line.ends_with(" bytes failed");
    let of_system = |line: &str| {
        let error = [11, 12].map(|code| (format!("Os {{ code: {code}, "), format!("(os error {code})")));
        error.iter().any(|(as_value, as_text)| line.contains(as_value) || line.ends_with(as_text))
    };
    last_words.lines().any(|line| of_allocator(line) || of_system(line))
}

fn mebi(bytes: u64) -> u64 {
    bytes >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_does_not_pose_as_a_lack_of_memory_by_a_name() {
        let name = "Cannot allocate memory (os error 12)";
        let error = wasmtime::Error::msg(format!("unknown import: `{name}` has not been defined")).context("link");
        assert!(!CompileError::from(RefusedError::of_wasmtime(&error)).is_transient(), "{error:#}");
        let error = wasmtime::Error::from(io::Error::from_raw_os_error(12)).context("cannot map the code");
        assert!(CompileError::from(RefusedError::of_wasmtime(&error)).is_transient(), "{error:#}");
        assert!(!is_shortage(
            "thread 'main' panicked at x.rs:1:1:\nno such name: `memory allocation of 9 bytes failed`"
        ));
        assert!(!is_shortage("no such name: `Cannot allocate memory (os error 12)`"));
        for last_words in [
            "memory allocation of 99 bytes failed\n",
            "Error: the thread cannot be started: Resource temporarily unavailable (os error 11)",
            "thread 'main' panicked at x.rs:1:1:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 11, kind: W }",
        ] {
            assert!(is_shortage(last_words), "{last_words}");
        }
    }
}
