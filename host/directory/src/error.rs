//! Errors that end the work of this crate, as opposed to problems with one policy.

use std::{io, path::PathBuf};

/// Why a directory cannot be read or watched, or a single policy not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The directory cannot be listed.
    #[error("{} cannot be read: {cause}; expected a directory with policies (.wasm) and sidecars (.yaml)", path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The directory holds more policies than a roster may have.
    #[error("{} holds more than {most} policy files", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// The most that it may hold.
        most: usize,
    },
    /// The files of a policy are refused; the text names file, place and the expected content.
    #[error("{0}")]
    Refused(String),
    /// The thread that watches could not be started.
    #[error("cannot start a thread to watch {}: {cause}", path.display())]
    Thread {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}
