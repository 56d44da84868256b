//! One source: its place, the form of its values, and its bounds.

use std::{borrow::Cow, net::IpAddr, ops::RangeInclusive, path::PathBuf, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Uri, uri::Scheme};
use plimsoll_core::Real;

/// The least and the greatest step. Below and above them an `f64` has too few digits for its multiples.
pub(super) const STEPS: RangeInclusive<f64> = 1e-9..=1e9;

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

/// A URL, and what a request to it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpSource {
    pub(crate) url: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) login: Option<Login>,
    /// The files of the client's certificate and its key.
    pub(crate) certificate: Option<(PathBuf, PathBuf)>,
    /// The authorities that sign the server's certificate; none: those of the system.
    pub(crate) ca_file: Option<PathBuf>,
}

/// The file with the secret that names the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Login {
    Bearer(PathBuf),
    /// The user, and the file with the password.
    Basic(Box<str>, PathBuf),
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

/// Rounds numbers to multiples of a step, so that noise makes no new values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Round {
    step: f64,
    /// The digits that its multiples have behind the point.
    decimals: usize,
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
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.url.host().unwrap_or_default().trim_matches(['[', ']']);
        host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
    }
}

// === impl Round ===

impl Round {
    /// Rounds to multiples of `step`; none if it is not among [`STEPS`].
    pub(crate) fn to(step: f64) -> Option<Self> {
        let decimals = step.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
        STEPS.contains(&step).then_some(Self { step, decimals })
    }

    /// The nearest multiple, if the text is a number; else the text.
    pub(crate) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let multiple = Real::parse(text).and_then(|number| Real::new((number.get() / self.step).round() * self.step));
        let Some(multiple) = multiple else { return Cow::Borrowed(text) };
        // Digits behind those of the step come from the arithmetic: 3 * 0.05 is 0.15000000000000002.
        let shown = format!("{:.*}", self.decimals, multiple.get());
        Cow::Owned(match self.decimals {
            0 => shown,
            _ => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        })
    }
}
