//! The modules that are measured, and directories of policies made of them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use plimsoll_harness::samples::{Sample, lay_out};
use tempfile::TempDir;

/// The modules that `make policies` built.
#[derive(Debug)]
pub(crate) struct Modules {
    directory: PathBuf,
}

// === impl Modules ===

impl Modules {
    /// Modules in the directory that `make policies` fills.
    pub(crate) fn find(directory: PathBuf) -> Result<Self> {
        let modules = Self { directory };
        modules.read("tenant-pool").map(|_| modules)
    }

    /// The bytes of one module.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.directory.join(format!("{name}.wasm"));
        std::fs::read(&path).with_context(|| format!("{} is missing: run `make policies`", path.display()))
    }

    /// A directory with these policies.
    pub(crate) fn lay_out(&self, samples: &[Sample]) -> Result<TempDir> {
        let directory = tempfile::tempdir()?;
        lay_out(samples, &self.directory, directory.path())?;
        Ok(directory)
    }
}
