//! Settings of the watched directory, and the errors that end the work of this crate.

use std::{io, path::PathBuf, time::Duration};

/// Settings of the watched directory.
#[derive(Debug, Clone)]
pub struct DirectoryConfig {
    /// The directory.
    pub path: PathBuf,
    /// The polling interval, for file systems without change events; `None` waits for events.
    pub poll: Option<Duration>,
    /// The time that files must be unchanged before they are read.
    pub settle: Duration,
    /// Maximum bytes of a module's file.
    pub max_module_bytes: u64,
    /// Maximum bytes of memory that a sidecar may give its policy.
    pub max_memory: usize,
    /// Whether a directory without policies is accepted.
    pub allow_empty: bool,
    /// Whether a module that has no sidecar is refused, and not a policy with every default.
    pub require_sidecars: bool,
    /// Whether a policy that cannot be loaded at the start is left out, whatever its `onError`.
    pub allow_degraded: bool,
    /// The directory of the last good versions, which survive a restart; `None` keeps none.
    pub last_good: Option<PathBuf>,
}

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

// === impl DirectoryConfig ===

impl DirectoryConfig {
    /// The defaults for this directory: file-system events, 100 ms, modules up to 64 MiB.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            poll: None,
            settle: Duration::from_millis(100),
            max_module_bytes: 64 << 20,
            max_memory: 256 << 20,
            allow_empty: false,
            require_sidecars: false,
            allow_degraded: false,
            last_good: None,
        }
    }
}
