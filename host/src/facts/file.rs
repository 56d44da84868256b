//! The facts file of the operator.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use plimsoll_facts::FactsConfig;

/// The facts file, with its content at the start.
pub(crate) struct FactsFile {
    pub(super) path: PathBuf,
    /// The policies directory, outside of which it must be.
    policies: PathBuf,
    pub(super) text: Vec<u8>,
    pub(super) config: FactsConfig,
}

// === impl FactsFile ===

impl FactsFile {
    /// Reads the facts file.
    ///
    /// # Errors
    /// If it is bad, or lies in the policies directory.
    pub(crate) fn read(path: PathBuf, policies: &Path) -> Result<Self> {
        let text = FactsConfig::read_text(&path)?;
        let config = checked(&path, policies, &text)?;
        Ok(Self { path, policies: policies.to_owned(), text, config })
    }

    /// Its text now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn text_now(&self) -> Result<Vec<u8>> {
        Ok(FactsConfig::read_text(&self.path)?)
    }

    /// Parses the text that the file has now.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(super) fn config_of(&self, text: &[u8]) -> Result<FactsConfig> {
        checked(&self.path, &self.policies, text)
    }
}

/// A person who may write policies must not declare sources.
fn checked(path: &Path, policies: &Path, text: &[u8]) -> Result<FactsConfig> {
    let config = FactsConfig::from_text(path, text)?;
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A link in the policies directory would have its paths resolved there.
    let is_inside = |path: &Path| resolved(path).starts_with(resolved(policies));
    for path in config.files().chain([path]) {
        ensure!(
            !is_inside(path) && !path.parent().is_some_and(is_inside),
            "{} is in the policies directory: expected the facts file and its files outside of it, since its sources are the operator's",
            path.display()
        );
    }
    Ok(config)
}
