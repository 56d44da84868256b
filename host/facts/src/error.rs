//! Errors of one fetch.

use std::{path::PathBuf, str::Utf8Error, time::Duration};

use plimsoll_core::{CsvError, FactError, MAX_TOTAL_FACT_BYTES, MAX_TOTAL_FACTS, excerpt};
use plimsoll_system::bounded_file::ReadFileError;

use crate::bounds::{MAX_BODY, MAX_FRAMES, MAX_REDIRECTS};

/// Maximum bytes of the text of an error; it stands in the log, in metrics and in `/api/facts`.
const MAX_TEXT_BYTES: usize = 500;

/// Why a source could not be read this time. No text has a token, or the query of a URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("no whole answer came within {}", humantime::format_duration(*.0))]
    Timeout(Duration),
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the request cannot be sent: {0}")]
    Request(String),
    #[error("the server gave no valid answer: {0}")]
    NoAnswer(String),
    #[error("the answer broke off: {0}")]
    Broken(String),
    #[error("the server answered with status {0}{1}")]
    Status(u16, String),
    #[error(
        "the answer has neither a Content-Length nor chunks: expected one of them for CSV, since a connection that breaks off would look like its end"
    )]
    NoEnd,
    #[error("the answer has more than {} MiB: expected at most that much", MAX_BODY >> 20)]
    TooLarge,
    #[error("the answer comes in more than {MAX_FRAMES} pieces: expected at most that many")]
    Frames,
    #[error("the answer has the Content-Encoding '{0}': expected none")]
    Encoded(String),
    #[error("more than {MAX_REDIRECTS} redirects: expected an answer by then")]
    Redirects,
    #[error("a redirect leads to no URL that may be followed: {0}")]
    Redirect(&'static str),
    #[error("{} {cause}", path.display())]
    File { path: PathBuf, cause: ReadFileError },
    #[error("{} has no token: expected one line of printable ASCII", .0.display())]
    Token(PathBuf),
    #[error("{} has no certificate that can be used: {why}: expected certificates of authorities in PEM", path.display())]
    Authorities { path: PathBuf, why: String },
    #[error("the certificates of the system's authorities cannot be used: {0}: name a caFile")]
    SystemRoots(String),
    #[error("TLS 1.2 and 1.3 cannot be used: {0}: expected at least one of them")]
    TlsVersions(String),
    #[error("the ConfigMap cannot be read: {0}")]
    ConfigMap(String),
    #[error("the answer is not that of Prometheus' query API: {0}")]
    NotPrometheus(String),
    #[error("Prometheus refused the query: {0}")]
    Refused(String),
    #[error("the result is of the type '{0}': expected vector or scalar, as of a query for one moment")]
    ResultType(String),
    #[error("no sample of the result has the label '{0}', which names nodes or keys: expected it on each sample")]
    NoLabel(Box<str>),
    #[error("the result is a scalar, which has no label '{0}': expected a vector, or neither `node` nor `key`")]
    Scalar(Box<str>),
    #[error("the result has {0} samples: expected one, or `node` or `key` with the label that tells them apart")]
    ManySamples(usize),
    #[error("the text is not JSON with a value for each key: {0}")]
    Json(String),
    #[error("the text is not UTF-8: {0}")]
    NotUtf8(Utf8Error),
    #[error("line {0}")]
    Csv(CsvError),
    #[error("{0}")]
    Facts(FactError),
    #[error(
        "with these values all sources would have more than {MAX_TOTAL_FACTS} facts, or more than {} MiB: expected at most that much",
        MAX_TOTAL_FACT_BYTES >> 20
    )]
    Total,
    #[error("plimsoll failed on the answer: its log says why")]
    Panicked,
}

// === impl FetchError ===

impl FetchError {
    /// The text for operators: without the token that the server may have repeated, and of bounded length, since it
    /// may quote the answer.
    pub(crate) fn shown(&self, token: Option<&str>) -> String {
        let text = self.to_string();
        let text = token.map_or(text.clone(), |token| text.replace(token, "<token>"));
        excerpt(&text, MAX_TEXT_BYTES)
    }
}
