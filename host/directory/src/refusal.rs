//! The refusal of a policy's files.

use plimsoll_core::{Fault, LoadError, excerpt};

/// Maximum bytes of an error's text.
const MAX_TEXT_BYTES: usize = 2_000;

/// Why a policy's files are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRefusal {
    /// File, place, the problem and the expected content.
    pub(crate) text: String,
    /// Whether the failure may be transient: the machine was at fault, or busy.
    pub(crate) transient: bool,
    /// Whether they were in force and were rolled back after their first calls.
    pub(crate) rolled_back: bool,
}

// === impl FileRefusal ===

impl FileRefusal {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: excerpt(text.as_ref(), MAX_TEXT_BYTES), transient: false, rolled_back: false }
    }

    /// The refusal of a module by the loader.
    pub(crate) fn of_module(label: &str, error: &LoadError) -> Self {
        Self { transient: error.is_transient(), ..Self::new(format!("{label}: {error}")) }
    }

    /// The refusal because of a fault.
    pub(crate) fn of_fault(text: impl AsRef<str>, fault: &Fault) -> Self {
        Self { transient: fault.kind.is_transient(), ..Self::new(text) }
    }

    pub(crate) fn transient(text: impl AsRef<str>) -> Self {
        Self { transient: true, ..Self::new(text) }
    }

    pub(crate) fn rolled_back(text: impl AsRef<str>) -> Self {
        Self { rolled_back: true, ..Self::new(text) }
    }
}
