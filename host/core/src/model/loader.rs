//! The port that makes a [`Policy`] from the bytes of a file.

use std::{fmt, sync::Arc};

use crate::model::Policy;

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

/// Turns a [`Module`] into a [`Policy`].
pub trait Loader: Send + Sync {
    /// Compiles a module, or takes it from a cache. The name of the policy is for reports of progress.
    ///
    /// # Errors
    /// Says what is wrong with the module and what was expected, and whether it is worth another try.
    fn load(&self, policy: &str, module: &Module) -> Result<Arc<dyn Policy>, LoadError>;
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
