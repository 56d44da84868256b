//! The facts file: from text to checked sources.

mod resolve;
#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http::{Uri, uri::Scheme};
use plimsoll_system::bounded_file::{ReadFileError, read_file};
use plimsoll_yaml::{FieldError, Format};

use crate::parse::Round;

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
#[derive(Debug, Clone)]
pub struct FactsConfig {
    /// In the order of their names.
    pub(crate) sources: Vec<Arc<SourceConfig>>,
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

/// One source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceConfig {
    pub(crate) name: Arc<str>,
    pub(crate) kind: SourceKind,
    /// The longest time from the start of one fetch to that of the next.
    pub(crate) every: Duration,
    /// Time limit of one fetch.
    pub(crate) timeout: Duration,
    /// The age at which values expire.
    pub(crate) max_age: Duration,
    pub(crate) round: Option<Round>,
}

/// The place of the values, and their form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceKind {
    /// The samples of an instant query.
    Prometheus(HttpSource, SampleKey),
    /// A JSON object, or CSV.
    Http(HttpSource),
    /// The entries of `data`.
    ConfigMap { namespace: String, name: String },
    /// A JSON object, or CSV.
    File(PathBuf),
}

/// A URL, and the files that a request to it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpSource {
    pub(crate) url: Uri,
    pub(crate) bearer_token_file: Option<PathBuf>,
    /// The authorities that sign the server's certificate; none: those of the system.
    pub(crate) ca_file: Option<PathBuf>,
}

/// The key of a sample's fact.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SampleKey {
    /// The value of this label, without a port.
    Node(Box<str>),
    /// The value of this label.
    Label(Box<str>),
    /// `value`, of the only sample.
    Single,
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
        let text = str::from_utf8(text).map_err(|_| FieldError::of_file("it is not UTF-8: expected YAML"));
        let config = text.and_then(|text| Self::parse(text, path.parent().unwrap_or(Path::new(""))));
        config.map_err(|cause| ConfigError::Malformed { path: path.to_owned(), cause })
    }

    fn parse(text: &str, directory: &Path) -> Result<Self, FieldError> {
        Ok(Self { sources: resolve::resolve(FORMAT.read(text)?, directory)? })
    }

    /// The names of the sources.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sources.iter().map(|source| &source.name)
    }

    /// The files that sources, tokens and authorities are read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.sources.iter().flat_map(|source| match &source.kind {
            SourceKind::Prometheus(source, _) | SourceKind::Http(source) => {
                [source.bearer_token_file.as_deref(), source.ca_file.as_deref()]
            }
            SourceKind::ConfigMap { .. } => [None, None],
            SourceKind::File(path) => [Some(path.as_path()), None],
        });
        files.flatten()
    }

    /// The first source that is read from the API server.
    pub fn first_config_map(&self) -> Option<&str> {
        let source = self.sources.iter().find(|source| matches!(source.kind, SourceKind::ConfigMap { .. }));
        source.map(|source| &*source.name)
    }
}

// === impl SourceKind ===

impl SourceKind {
    /// Its name in the facts file.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Prometheus(..) => "prometheus",
            Self::Http(_) => "http",
            Self::ConfigMap { .. } => "configMap",
            Self::File(_) => "file",
        }
    }

    /// Where the values are, without the query of a URL, which may have a secret.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Prometheus(HttpSource { url, .. }, _) | Self::Http(HttpSource { url, .. }) => {
                url.to_string().split('?').next().unwrap_or_default().to_owned()
            }
            Self::ConfigMap { namespace, name } => format!("{namespace}/{name}"),
            Self::File(path) => path.display().to_string(),
        }
    }
}

// === impl HttpSource ===

impl HttpSource {
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == Some(&Scheme::HTTPS)
    }

    /// Whether the server is on this machine, by its address or as `localhost`.
    fn is_loopback(&self) -> bool {
        let host = self.url.host().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
    }
}
