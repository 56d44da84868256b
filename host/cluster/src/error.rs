//! Errors of snapshot files.

use std::path::{Path, PathBuf};

/// Why a file is no snapshot, or no pod.
#[derive(Debug, thiserror::Error)]
#[error("{}{cause}", path.display())]
pub struct SnapshotError {
    path: PathBuf,
    /// Follows the file's name: the place, the error, and the expected form.
    cause: String,
}

// === impl SnapshotError ===

impl SnapshotError {
    pub(crate) fn new(path: &Path, cause: String) -> Self {
        Self { path: path.to_owned(), cause }
    }
}
