//! A directory with certificates, the server's side of TLS made of it, and clients for it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use anyhow::Result;
use plimsoll_harness::{Authority, Pair, Purpose, TempDir, tempdir};
use plimsoll_http::{Tls, TlsError, TlsFiles, TlsObserver};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// Between two looks at the files, in tests.
pub const LOOK: Duration = Duration::from_millis(10);

/// The files of one server, and who signs for it.
pub struct Site {
    /// Signs the server's certificates.
    pub servers: Authority,
    /// Signs the clients' certificates.
    pub clients: Authority,
    /// Where `tls.crt`, `tls.key` and `ca.crt` are.
    pub directory: TempDir,
}

/// Keeps what a [`TlsObserver`] is told.
#[derive(Debug, Default)]
pub struct Notices(Mutex<Vec<String>>);

// === impl Site ===

impl Site {
    /// A server with a good certificate that asks for one of `clients`.
    pub fn new() -> Result<Self> {
        let (servers, clients) = (Authority::new("servers")?, Authority::new("clients")?);
        let site = Self { servers, clients, directory: tempdir()? };
        site.servers.issue(Purpose::Server)?.write(site.path(), "tls")?;
        fs::write(site.path().join("ca.crt"), site.clients.pem())?;
        Ok(site)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The files that the server is told.
    pub fn files(&self) -> TlsFiles {
        files_in(self.path())
    }

    /// The server's side, and what its observer hears.
    pub fn load(&self) -> Result<(Arc<Tls>, Arc<Notices>), TlsError> {
        load(self.files())
    }

    /// The configuration of a client with a good certificate.
    pub fn client(&self) -> Result<Arc<ClientConfig>> {
        self.client_with(Some(&self.clients.issue(Purpose::Client)?), &[b"http/1.1"])
    }

    /// A client with any certificate, or none, and with any protocols.
    pub fn client_with(&self, pair: Option<&Pair>, protocols: &[&[u8]]) -> Result<Arc<ClientConfig>> {
        self.client_of(rustls::ALL_VERSIONS, pair, protocols)
    }

    /// A client that speaks only some versions.
    pub fn client_of(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        pair: Option<&Pair>,
        protocols: &[&[u8]],
    ) -> Result<Arc<ClientConfig>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.servers.pem().as_bytes())?)?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)?
            .with_root_certificates(roots);
        let mut config = match pair {
            Some(pair) => {
                let chain = CertificateDer::pem_slice_iter(pair.cert.as_bytes()).collect::<Result<_, _>>()?;
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(pair.key.as_bytes())?)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// `tls.crt`, `tls.key` and `ca.crt` of a directory.
pub fn files_in(directory: &Path) -> TlsFiles {
    let file = |name: &str| -> PathBuf { directory.join(name) };
    TlsFiles { cert: file("tls.crt"), key: file("tls.key"), client_ca: Some(file("ca.crt")) }
}

/// Loads files, and tells what the observer hears.
pub fn load(files: TlsFiles) -> Result<(Arc<Tls>, Arc<Notices>), TlsError> {
    let notices: Arc<Notices> = Arc::default();
    Ok((Arc::new(Tls::load(files, notices.clone())?), notices))
}

// === impl Notices ===

impl Notices {
    /// One line for each notice so far.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of times a notice came.
    pub fn count(&self, notice: &str) -> usize {
        self.all().iter().filter(|heard| *heard == notice).count()
    }

    fn add(&self, notice: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
    }
}

impl TlsObserver for Notices {
    fn refused(&self, reason: &'static str) {
        self.add(format!("refused: {reason}"));
    }

    fn reloaded(&self, taken: bool) {
        self.add(if taken { "loaded" } else { "kept" }.to_owned());
    }

    fn expires(&self, at: SystemTime) {
        let seconds = at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.add(format!("expires: {seconds}"));
    }
}
