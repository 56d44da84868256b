//! The port that makes a [`Policy`] from the bytes of a file.

use std::sync::Arc;

use crate::Policy;

/// Why a module was not loaded: text for its author, the whole chain in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    text: String,
    transient: bool,
}

/// A module, and the policy for which it is loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadRequest<'a> {
    /// The name of the policy, for a report of progress.
    pub policy: &'a str,
    /// The bytes of the file.
    pub module: &'a [u8],
    /// Whether a version of the policy is in force: its next one is compiled before modules of new policies.
    pub is_urgent: bool,
}

/// Turns the bytes of a `.wasm` file into a [`Policy`].
pub trait Loader: Send + Sync {
    /// Compiles, or takes from its cache, a module.
    ///
    /// # Errors
    /// Says what is wrong with the module and what was expected, and whether it is worth another try.
    fn load(&self, module: &[u8]) -> Result<Arc<dyn Policy>, LoadError>;

    /// The same, for a policy.
    ///
    /// # Errors
    /// As for [`Loader::load`].
    fn load_for(&self, request: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError> {
        self.load(request.module)
    }

    /// Prepares instances of a policy with this module and these settings, in the background: its calls may be faster
    /// later, and answer the same. The settings are those of its calls, by address. Name and version are for the log.
    fn preinitialize(&self, name: &str, version: u64, module: &[u8], settings: &Arc<str>) {
        let _ = (name, version, module, settings);
    }

    /// The error that `load` would return at once for the module with this digest (`sha256:…`), since it was refused
    /// before; `None` if it would be tried.
    fn refusal(&self, digest: &str) -> Option<LoadError> {
        let _ = digest;
        None
    }
}

// === impl LoadError ===

impl LoadError {
    /// The module is wrong: it is refused until its bytes, its limits or this program change.
    pub fn permanent(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: false }
    }

    /// The module may be right, but could not be compiled now: the compiler was killed, or ran out of time or memory.
    pub fn transient(text: impl Into<String>) -> Self {
        Self { text: text.into(), transient: true }
    }

    /// Whether the same bytes may load another time.
    pub const fn is_transient(&self) -> bool {
        self.transient
    }
}
