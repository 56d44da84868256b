//! The authorities that a server's certificate is checked by.

use std::{path::Path, sync::Arc};

use hyper_rustls::ConfigBuilderExt;
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
    version::{TLS12, TLS13},
};

use crate::error::FetchError;

/// The supported TLS versions: nothing below 1.2.
const VERSIONS: [&rustls::SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// Trusts the authorities of a file and no others.
pub(super) fn with_authorities(path: &Path, pem: &[u8]) -> Result<ClientConfig, FetchError> {
    let wrong = |why: String| FetchError::Authorities { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(wrong("it has none".to_owned()));
    }
    Ok(builder()?.with_root_certificates(roots).with_no_client_auth())
}

/// Trusts the authorities of the system.
pub(super) fn with_system_authorities() -> Result<ClientConfig, FetchError> {
    let builder = builder()?.with_native_roots().map_err(|error| FetchError::SystemRoots(error.to_string()))?;
    Ok(builder.with_no_client_auth())
}

/// Trusts nobody: for a server that is reached without TLS.
pub(super) fn without_authorities() -> Result<ClientConfig, FetchError> {
    Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, FetchError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_protocol_versions(&VERSIONS).map_err(|error| FetchError::TlsVersions(error.to_string()))
}
