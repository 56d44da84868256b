//! The facts file: from text to checked sources.

mod raw;
mod resolve;
mod source;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use plimsoll_system::bounded_file::{ReadFileError, read_file};
use plimsoll_yaml::{FieldError, Format};

use self::raw::RawFile;
pub(crate) use self::source::{HttpSource, SampleKey, SourceConfig, SourceKind};

/// Maximum bytes of a facts file, as of a ConfigMap.
const MAX_BYTES: u64 = 1 << 20;

/// Far more than 64 sources need.
const FORMAT: Format = Format {
    max_nodes: 10_000,
    max_depth: 16,
    max_aliases: 100,
    max_replayed_events: 256,
    free_field: None,
    empty: "the file is empty: expected sources by name, or '{}' for none",
};

/// The sources that an operator has declared.
#[derive(Debug, Clone, PartialEq)]
pub struct FactsConfig {
    /// In the order of their names.
    pub(crate) sources: Vec<SourceConfig>,
}

/// Why a facts file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{} {cause}: expected a file with sources of facts", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        cause: ReadFileError,
    },
    /// Its content is wrong.
    #[error("{}:{cause}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place, the field and the error.
        cause: FieldError,
    },
}

// === impl FactsConfig ===

impl FactsConfig {
    /// Returns the bytes of a facts file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_text(path: &Path) -> Result<Vec<u8>, ConfigError> {
        read_file(path, MAX_BYTES).map_err(|cause| ConfigError::Unreadable { path: path.to_owned(), cause })
    }

    /// Parses the text of the facts file at `path`. Paths in it are relative to its directory.
    ///
    /// # Errors
    /// If it declares something else than sources.
    pub fn from_text(path: &Path, text: &[u8]) -> Result<Self, ConfigError> {
        let malformed = |cause| ConfigError::Malformed { path: path.to_owned(), cause };
        let text =
            str::from_utf8(text).map_err(|_| malformed(FieldError::of_file("it is not UTF-8: expected YAML")))?;
        Self::parse(text, path.parent().unwrap_or(Path::new(""))).map_err(malformed)
    }

    fn parse(text: &str, directory: &Path) -> Result<Self, FieldError> {
        let file = FORMAT.read::<RawFile>(text).map_err(with_hint)?;
        Ok(Self { sources: resolve::resolve(file, directory)? })
    }

    /// The names of the sources.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sources.iter().map(|source| &source.name)
    }

    /// The files that sources, tokens and authorities are read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().flat_map(|source| source.kind.files()).flatten()
    }

    /// The first source that is read from the API server.
    pub fn first_config_map(&self) -> Option<&str> {
        let source = self.sources.iter().find(|source| matches!(source.kind, SourceKind::ConfigMap { .. }));
        source.map(|source| &*source.name)
    }
}

/// Says where a key belongs that every source has, if it is among those of the kind.
fn with_hint(mut error: FieldError) -> FieldError {
    let key = ["maxAge", "round"].into_iter().find(|key| error.text.starts_with(&format!("unknown key '{key}'")));
    if let (Some(key), Some((source, kind))) = (key, error.field.rsplit_once('.')) {
        error.text = format!("unknown key '{key}': expected it beside '{kind}', as '{source}.{key}'");
    }
    error
}
