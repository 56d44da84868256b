//! Where the policies are, and how they are read.

use std::{path::PathBuf, time::Duration};

/// What bounds the reading of one policy's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadLimits {
    /// Most bytes of a module's file.
    pub(crate) module_bytes: u64,
    /// Most bytes of memory that a sidecar may ask for.
    pub(crate) memory: usize,
}

/// Where the policies are, and how they are read.
#[derive(Debug, Clone)]
pub struct DirectoryConfig {
    /// The directory.
    pub path: PathBuf,
    /// How often to look, where the file system reports no changes; none: wait for its reports.
    pub poll: Option<Duration>,
    /// How long files must be left alone before they are read.
    pub settle: Duration,
    /// Most bytes of a module's file.
    pub max_module_bytes: u64,
    /// Most bytes of memory that a sidecar may give its policy.
    pub max_memory: usize,
    /// A directory without policies is no accident.
    pub allow_empty: bool,
    /// A policy that was there at the start and is not loaded is left out, whatever its `onError`.
    pub allow_degraded: bool,
    /// Where the last good versions are kept, so that they outlast a restart; none: they do not.
    pub last_good: Option<PathBuf>,
}

// === impl DirectoryConfig ===

impl DirectoryConfig {
    /// The defaults for this directory: reports of the file system, 100 ms, modules up to 64 MiB.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let ReadLimits { module_bytes, memory } = ReadLimits::default();
        let settle = Duration::from_millis(100);
        Self {
            path: path.into(),
            poll: None,
            settle,
            max_module_bytes: module_bytes,
            max_memory: memory,
            allow_empty: false,
            allow_degraded: false,
            last_good: None,
        }
    }

    pub(crate) fn bounds(&self) -> ReadLimits {
        ReadLimits { module_bytes: self.max_module_bytes, memory: self.max_memory }
    }
}

// === impl ReadLimits ===

impl Default for ReadLimits {
    fn default() -> Self {
        Self { module_bytes: 64 << 20, memory: 256 << 20 }
    }
}
