//! Errors of snapshot files.

use std::path::PathBuf;

use plimsoll_system::bounded_file::ReadFileError;

use crate::document::DocumentError;

/// The recipe for a snapshot file, in messages.
pub(crate) const RECIPE: &str = "the output of 'kubectl get nodes,pods -A -o json'";

/// Why a file is no snapshot, or no pod.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("{} {cause}: expected {expected}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: ReadFileError,
        /// The content that should be in it.
        expected: &'static str,
    },
    /// There is nothing in the file.
    #[error("{} is empty: expected {expected}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
    },
    /// The file has no node.
    #[error("{} has no Node: expected {RECIPE}", path.display())]
    NoNodes {
        /// The file.
        path: PathBuf,
    },
    /// The text has not the expected form; the cause names the place.
    #[error("{}{cause}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place, the error, and the expected form.
        cause: DocumentError,
    },
    /// The file has something else than facts.
    #[error("{}: {cause}", path.display())]
    NoFacts {
        /// The file.
        path: PathBuf,
        /// The part that is none, and what was expected.
        cause: String,
    },
    /// The file does not have exactly one pod.
    #[error("{} has {count} pods: expected one", path.display())]
    NotOnePod {
        /// The file.
        path: PathBuf,
        /// Their number.
        count: usize,
    },
}
