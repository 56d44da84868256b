//! The paths of the files.

use std::path::PathBuf;

/// The files that TLS is made of, all PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The serving certificate and its issuers, its own first.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The CA that signs the certificates of clients; without it none is asked for.
    pub client_ca: Option<PathBuf>,
}
