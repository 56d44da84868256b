//! A checked source.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::{round::Round, url::HttpUrl};

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
    pub(crate) url: HttpUrl,
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

// === impl SourceKind ===

impl SourceKind {
    /// Its name in the facts file.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Prometheus(..) => "prometheus",
            Self::Http(_) => "http",
            Self::ConfigMap { .. } => "configMap",
            Self::File(_) => "file",
        }
    }

    pub(super) fn files(&self) -> [Option<&Path>; 2] {
        match self {
            Self::Prometheus(source, _) | Self::Http(source) => {
                [source.bearer_token_file.as_deref(), source.ca_file.as_deref()]
            }
            Self::ConfigMap { .. } => [None, None],
            Self::File(path) => [Some(path), None],
        }
    }

    /// Where the values are, without credentials.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Prometheus(source, _) | Self::Http(source) => source.url.shown(),
            Self::ConfigMap { namespace, name } => format!("{namespace}/{name}"),
            Self::File(path) => path.display().to_string(),
        }
    }
}
