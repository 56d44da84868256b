//! The facts file: from text to checked sources.

mod resolve;
mod source;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use plimsoll_system::bounded_file::read_file;
use plimsoll_yaml::{FieldError, Format};

pub(crate) use self::source::{HttpSource, Login, Round, SampleKey, SourceConfig, SourceKind};

/// Maximum bytes of a facts file, as of a ConfigMap.
const MAX_BYTES: u64 = 1 << 20;

/// Far more than 64 sources need.
const FORMAT: Format = Format {
    max_nodes: 10_000,
    max_replayed_events: 256,
    free_field: None,
    empty: "the file is empty: expected sources by name, or '{}' for none",
};

/// The sources that an operator has declared.
#[derive(Debug, Clone)]
pub struct FactsConfig {
    /// In the order of their names.
    pub(crate) sources: Vec<Arc<SourceConfig>>,
}

// === impl FactsConfig ===

impl FactsConfig {
    /// Returns the bytes of a facts file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_text(path: &Path) -> Result<Vec<u8>, String> {
        let wrong = |cause| format!("{} {cause}: expected a file with sources of facts", path.display());
        read_file(path, MAX_BYTES).map_err(wrong)
    }

    /// Parses the text of the facts file at `path`. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// If it declares something else than sources: the place, the field and the error.
    pub fn from_text(path: &Path, text: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(text).map_err(|_| FieldError::of_file("it is not UTF-8: expected YAML"));
        let config = text.and_then(|text| Self::parse(text, path.parent().unwrap_or(Path::new(""))));
        config.map_err(|cause| format!("{}:{cause}", path.display()))
    }

    fn parse(text: &str, directory: &Path) -> Result<Self, FieldError> {
        Ok(Self { sources: resolve::resolve(FORMAT.read(text)?, directory)? })
    }

    /// The names of the sources.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sources.iter().map(|source| &source.name)
    }

    /// The first source that is read from the API server.
    pub fn first_config_map(&self) -> Option<&str> {
        let source = self.sources.iter().find(|source| matches!(source.kind, SourceKind::ConfigMap { .. }));
        source.map(|source| &*source.name)
    }
}
