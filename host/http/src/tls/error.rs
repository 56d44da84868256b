//! Errors in the TLS files.

use std::{io, path::PathBuf};

/// Why certificates cannot be used; each names its file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A pipe, a device or a directory has the file's name.
    #[error("{} is not a regular file: expected PEM", path.display())]
    Irregular {
        /// The path.
        path: PathBuf,
    },
    /// The file has more bytes than any certificate file needs.
    #[error("{} has more than {limit} bytes: expected a few certificates", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most bytes.
        limit: u64,
    },
    /// The file has no object of the expected kind.
    #[error("{} has no {expected}: expected PEM", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The content that it should have.
        expected: &'static str,
    },
    /// The file is no PEM, or a certificate or key in it cannot be read.
    #[error("{} is malformed: {text}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        text: String,
    },
    /// The key is that of another certificate.
    #[error("the key in {} is not that of the certificate in {}", key.display(), cert.display())]
    Mismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The certificate is not valid now.
    #[error("the certificate in {} {text}", path.display())]
    NotValidNow {
        /// The file.
        path: PathBuf,
        /// Since or from when.
        text: String,
    },
}
