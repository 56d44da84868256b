//! Errors of snapshot files.

use std::{io, path::PathBuf};

use crate::document::DocumentError;

/// How to make a snapshot.
pub(crate) const RECIPE: &str = "the output of 'kubectl get nodes,pods -A -o json'";

/// Why a file is no snapshot, or no pod.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("{} cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
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
    /// The file does not have exactly one pod.
    #[error("{} has {count} pods: expected one", path.display())]
    NotOnePod {
        /// The file.
        path: PathBuf,
        /// Their number.
        count: usize,
    },
}
