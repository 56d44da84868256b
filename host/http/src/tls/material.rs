//! From the bytes of the files to configurations that fit together.

use std::{path::Path, sync::Arc, time::SystemTime};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::{TLS12, TLS13},
};

use super::{contents::Contents, error::TlsError, files::TlsFiles, replica::Replicas, validity::Validity};

/// The supported TLS versions: nothing below 1.2.
const VERSIONS: [&rustls::SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// One state of the files, ready for use.
pub(super) struct Material {
    pub(super) server: Arc<ServerConfig>,
    /// For calls to other replicas.
    pub(super) client: Arc<ClientConfig>,
    /// Verifies other replicas.
    pub(super) replicas: Arc<Replicas>,
    /// When the serving certificate expires.
    pub(super) not_after: SystemTime,
}

/// The parsed files.
struct Parsed {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The CA that signs the certificates of clients, if they must show one.
    client_ca: Option<Vec<CertificateDer<'static>>>,
}

// === impl Material ===

impl Material {
    /// Checks each file, and that they fit together.
    pub(super) fn new(files: &TlsFiles, contents: &Contents, now: SystemTime) -> Result<Self, TlsError> {
        let chain = certificates(&files.cert, &contents.cert)?;
        // The chain is never empty.
        let not_after = check_validity(&files.cert, &chain[0], now)?.not_after;
        let client_ca = match (&files.client_ca, &contents.client_ca) {
            (Some(path), Some(bytes)) => Some(authorities(path, bytes, now)?),
            _ => None,
        };
        let parsed = Parsed { chain, key: private_key(&files.key, &contents.key)?, client_ca };
        let provider = Arc::new(ring::default_provider());
        let server = Arc::new(parsed.server(files, &provider)?);
        let replicas = Arc::new(parsed.replicas(files, &provider)?);
        let client = Arc::new(parsed.client(files, &provider, &replicas)?);
        Ok(Self { server, client, replicas, not_after })
    }
}

// === impl Parsed ===

impl Parsed {
    fn server(&self, files: &TlsFiles, provider: &Arc<CryptoProvider>) -> Result<ServerConfig, TlsError> {
        let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| malformed(&files.cert, &error))?;
        let builder = match self.client_roots(files)? {
            Some((path, roots)) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
                let verifier = verifier.build().map_err(|error| malformed(path, &error))?;
                builder.with_client_cert_verifier(Replicas::or_clients(&self.chain[0], verifier))
            }
            None => builder.with_no_client_auth(),
        };
        let mut config =
            builder.with_single_cert(self.chain.clone(), self.key.clone_key()).map_err(|error| unfit(files, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // No session resumption: a resumed session would not show a certificate that has expired since. Connections are
        // long-lived, so resumption saves nothing.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn replicas(&self, files: &TlsFiles, provider: &Arc<CryptoProvider>) -> Result<Replicas, TlsError> {
        let authorities = self.client_ca.as_deref().unwrap_or_default();
        Replicas::new(&self.chain, authorities, provider).map_err(|error| malformed(&files.cert, &error))
    }

    /// The client configuration of calls to other replicas.
    fn client(
        &self,
        files: &TlsFiles,
        provider: &Arc<CryptoProvider>,
        replicas: &Arc<Replicas>,
    ) -> Result<ClientConfig, TlsError> {
        let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
            .with_protocol_versions(&VERSIONS)
            .map_err(|error| malformed(&files.cert, &error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(replicas) as _)
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(|error| unfit(files, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn client_roots<'f>(&self, files: &'f TlsFiles) -> Result<Option<(&'f Path, RootCertStore)>, TlsError> {
        let (Some(path), Some(authorities)) = (&files.client_ca, &self.client_ca) else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority.clone()).map_err(|error| malformed(path, &error))?;
        }
        Ok(Some((path, roots)))
    }
}

/// Every certificate of a file, at least one.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|error| malformed(path, &error))?;
    if certificates.is_empty() {
        return Err(TlsError::Missing { path: path.to_owned(), expected: "certificate" });
    }
    Ok(certificates)
}

/// The authorities of a file that are valid, at least one: rustls itself does not look at their dates.
fn authorities(path: &Path, pem: &[u8], now: SystemTime) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let (mut valid, mut objection) = (Vec::new(), None);
    for certificate in certificates(path, pem)? {
        match check_validity(path, &certificate, now) {
            Ok(_) => valid.push(certificate),
            Err(error @ TlsError::NotValidNow { .. }) => {
                tracing::warn!(%error, "TLS: a client CA is left out");
                objection = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    match objection {
        Some(objection) if valid.is_empty() => Err(objection),
        _ => Ok(valid),
    }
}

fn private_key(path: &Path, pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    match PrivateKeyDer::pem_slice_iter(pem).next() {
        Some(key) => key.map_err(|error| malformed(path, &error)),
        None => Err(TlsError::Missing { path: path.to_owned(), expected: "private key without a passphrase" }),
    }
}

fn check_validity(path: &Path, certificate: &[u8], now: SystemTime) -> Result<Validity, TlsError> {
    let validity =
        Validity::of(certificate).ok_or_else(|| malformed(path, &"a certificate in it is not in X.509's format"))?;
    match validity.objection(now) {
        Some(text) => Err(TlsError::NotValidNow { path: path.to_owned(), text }),
        None => Ok(validity),
    }
}

fn malformed(path: &Path, text: &dyn std::fmt::Display) -> TlsError {
    TlsError::Malformed { path: path.to_owned(), text: text.to_string() }
}

/// The error, with the file at fault, if certificate and key do not match.
fn unfit(files: &TlsFiles, error: &rustls::Error) -> TlsError {
    match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch { cert: files.cert.clone(), key: files.key.clone() },
        rustls::Error::InvalidCertificate(_) => malformed(&files.cert, error),
        _ => malformed(&files.key, error),
    }
}
