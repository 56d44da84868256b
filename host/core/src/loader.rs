//! The port that makes a [`Policy`] from the bytes of a file.

use std::{fmt, sync::Arc};

use crate::Policy;

/// Why a module was not loaded: text for its author, the whole chain in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct LoadError {
    text: String,
    transient: bool,
}

/// The bytes of a `.wasm` file with their SHA-256, which is computed once; clones share both.
#[derive(Clone)]
pub struct Module(Arc<ModuleBytes>);

struct ModuleBytes {
    bytes: Vec<u8>,
    digest: [u8; 32],
}

/// A module, and the policy for which it is loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadRequest<'a> {
    /// The name of the policy, for a report of progress.
    pub policy: &'a str,
    /// The file.
    pub module: &'a Module,
    /// Whether a version of the policy is in force: its next one is compiled before modules of new policies.
    pub is_urgent: bool,
}

/// Turns a [`Module`] into a [`Policy`].
pub trait Loader: Send + Sync {
    /// Compiles a module, or takes it from a cache.
    ///
    /// # Errors
    /// Says what is wrong with the module and what was expected, and whether it is worth another try.
    fn load_for(&self, request: LoadRequest<'_>) -> Result<Arc<dyn Policy>, LoadError>;

    /// Loads a module that is not urgent.
    ///
    /// # Errors
    /// As for [`Loader::load_for`].
    fn load(&self, policy: &str, module: &Module) -> Result<Arc<dyn Policy>, LoadError> {
        self.load_for(LoadRequest { policy, module, is_urgent: false })
    }

    /// Prepares instances of a policy with this module and these settings, in the background: its calls may be faster
    /// later, and answer the same. The settings are those of its calls, by address. Name and version are for the log.
    fn preinitialize(&self, name: &str, version: u64, module: &Module, settings: &Arc<str>) {
        let _ = (name, version, module, settings);
    }

    /// The error that a load would return at once for the module with this SHA-256, since it was refused before; `None`
    /// if it would be tried.
    fn refusal(&self, digest: &[u8; 32]) -> Option<LoadError> {
        let _ = digest;
        None
    }
}

// === impl Module ===

impl Module {
    /// A module; `sha256` hashes its bytes.
    pub fn new(bytes: Vec<u8>, sha256: impl FnOnce(&[u8]) -> [u8; 32]) -> Self {
        let digest = sha256(&bytes);
        Self(Arc::new(ModuleBytes { bytes, digest }))
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Their SHA-256.
    pub fn digest(&self) -> &[u8; 32] {
        &self.0.digest
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("bytes", &self.0.bytes.len()).finish_non_exhaustive()
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
