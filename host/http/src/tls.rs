//! TLS of the extender wire: who may speak to it, and certificates that are replaced while it runs.
//!
//! A connection keeps the certificates that were in force when it began.

mod replica;

use std::{
    fmt, fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use plimsoll_system::{Debouncer, error_chain};
use rustls::{
    ClientConfig, Error, InvalidMessage, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink},
    net::TcpStream,
    task::spawn_blocking,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};
use x509_parser::{
    asn1_rs::Err, certificate::X509Certificate, error::X509Error, extensions::GeneralName, prelude::FromDer,
};

use self::replica::{Replica, ReplicaOrClient};
use crate::access::ClientIdentity;

/// The time and the bytes that are spent on a refused client, so that it receives the alert.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_DRAINED: u64 = 64 << 10;

/// The stream of a connection, plain or TLS.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

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

/// Observes TLS events; it must not block.
pub trait TlsObserver: Send + Sync {
    /// A client was refused; the reason is one of a few words.
    fn refused(&self, reason: &'static str);

    /// The files have changed, and were accepted or refused.
    fn reloaded(&self, taken: bool);

    /// The serving certificate in force ends then.
    fn expires(&self, at: SystemTime);
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is malformed, or does not fit the others.
    #[error("{} cannot be used: {text}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The problem.
        text: String,
    },
}

/// The certificates in force, shared by the listener and by calls to other replicas.
pub struct Tls {
    files: TlsFiles,
    observer: Arc<dyn TlsObserver>,
    material: ArcSwap<Material>,
    /// The contents of the files at the start, from which [`Tls::follow`] sees changes.
    loaded: Contents,
}

/// The bytes of the files at one time.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    cert: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

/// One state of the files, ready for use.
struct Material {
    /// Our own certificate, which makes a peer that shows it a replica.
    own: CertificateDer<'static>,
    expires: SystemTime,
    server: Arc<ServerConfig>,
    /// For calls to other replicas.
    client: Arc<ClientConfig>,
}

// === impl Tls ===

impl Tls {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// Names the file that is missing or malformed, or does not fit the others.
    pub fn load(files: TlsFiles, observer: Arc<dyn TlsObserver>) -> Result<Self, TlsError> {
        let loaded = Contents::read(&files)?;
        let material = Material::new(&files, &loaded)?;
        observer.expires(material.expires);
        Ok(Self { files, observer, material: ArcSwap::from_pointee(material), loaded })
    }

    /// Whether a client must show a certificate.
    pub fn asks_for_certificates(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// Reads the files at this interval and loads changed ones; it never returns.
    ///
    /// Certificate, key and client CA are replaced together or not at all: if they do not fit, the old ones stay in
    /// force, and the log says why.
    pub async fn follow(self: Arc<Self>, every: Duration) {
        let mut states = Debouncer::new(Ok(self.loaded.clone()));
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let tls = Arc::clone(&self);
            // The files may be on a slow volume.
            let read = spawn_blocking(move || Contents::read(&tls.files).map_err(|error| error_chain(&error)));
            let Ok(state) = read.await else { continue };
            if let Some(state) = states.add(state, false) {
                self.replace(state);
            }
        }
    }

    fn replace(&self, state: &Result<Contents, String>) {
        let contents = state.as_ref().map_err(Clone::clone);
        let material = contents.and_then(|contents| Material::new(&self.files, contents).map_err(|e| e.to_string()));
        self.observer.reloaded(material.is_ok());
        match material {
            Ok(material) => {
                let expires = humantime::format_rfc3339_seconds(material.expires);
                self.observer.expires(material.expires);
                self.material.store(Arc::new(material));
                // The line is true once it is read: the certificates and their metric come first.
                tracing::info!(file = %self.files.cert.display(), %expires, "TLS: other certificates are in force");
            }
            Err(error) => tracing::error!(error, "TLS: the files cannot be used: the certificates in force stay"),
        }
    }

    /// Performs the server handshake and identifies the client; `None` if it is refused or leaves.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Option<(Box<dyn Duplex>, ClientIdentity)> {
        let material = self.material.load_full();
        match TlsAcceptor::from(Arc::clone(&material.server)).accept(stream).into_fallible().await {
            Ok(stream) => {
                let identity = material.identify(stream.get_ref().1.peer_certificates());
                Some((Box::new(stream), identity))
            }
            Err((error, mut stream)) => {
                self.refuse(peer, &error);
                // A close with unread bytes is a reset, which discards the alert that tells the client why.
                let drained = async {
                    stream.shutdown().await?;
                    copy(&mut stream.take(MAX_DRAINED), &mut sink()).await
                };
                drop(timeout(DRAIN_TIMEOUT, drained).await);
                None
            }
        }
    }

    /// Logs and counts a refusal. The logging layer limits floods.
    fn refuse(&self, peer: SocketAddr, error: &io::Error) {
        let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<Error>()) else {
            return tracing::debug!(%peer, %error, "TLS: a client left during its handshake");
        };
        let (reason, hint) = match error {
            Error::NoCertificatesPresented | Error::InvalidCertificate(_) => {
                ("certificate", "its tlsConfig needs certFile and keyFile, signed by --tls-client-ca")
            }
            Error::AlertReceived(_) => ("our_certificate", "see caFile and serverName of its tlsConfig"),
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                ("not_tls", "its urlPrefix should begin with https://")
            }
            _ => ("handshake", "it must speak TLS 1.2 or 1.3"),
        };
        self.observer.refused(reason);
        tracing::warn!(%peer, reason, "TLS: a client was refused: {error}: {hint}");
    }

    /// Performs the client handshake of a call to another replica, with our certificate as the client's. The replica
    /// must show the same one: its address is in no certificate.
    ///
    /// # Errors
    /// If the connection fails, or leads to somebody else.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<client::TlsStream<TcpStream>> {
        let address = ServerName::from(stream.peer_addr()?.ip());
        let connector = TlsConnector::from(Arc::clone(&self.material.load().client));
        connector.connect(address, stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

// === impl Contents ===

impl Contents {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let read = |path: &PathBuf| fs::read(path).map_err(|source| TlsError::Read { path: path.clone(), source });
        Ok(Self {
            cert: read(&files.cert)?,
            key: read(&files.key)?,
            client_ca: files.client_ca.as_ref().map(read).transpose()?,
        })
    }
}

// === impl Material ===

impl Material {
    /// Checks each file, and that they fit together.
    fn new(files: &TlsFiles, contents: &Contents) -> Result<Self, TlsError> {
        let of_cert = |error: &dyn fmt::Display| TlsError::unusable(&files.cert, error);
        let of_key = |error: &dyn fmt::Display| TlsError::unusable(&files.key, error);
        let chain = certificates(&files.cert, &contents.cert)?;
        let key = PrivateKeyDer::from_pem_slice(&contents.key).map_err(|error| of_key(&error))?;
        let own = chain.first().ok_or_else(|| of_cert(&"there is no certificate in it"))?.clone();
        let expires = expiry(&own).map_err(|error| of_cert(&error))?;
        if expires < SystemTime::now() {
            return Err(of_cert(&format_args!("it expired at {}", humantime::format_rfc3339_seconds(expires))));
        }
        if let Some(problem) = refusal_by_clients(&own).map_err(|error| of_cert(&error))? {
            return Err(of_cert(&problem));
        }
        let provider = Arc::new(ring::default_provider());
        let clients = match (&files.client_ca, &contents.client_ca) {
            (Some(path), Some(pem)) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(path, pem)? {
                    roots.add(authority).map_err(|error| TlsError::unusable(path, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                Some(verifier.build().map_err(|error| TlsError::unusable(path, &error))?)
            }
            _ => None,
        };
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| of_cert(&error))?;
        let server = match clients {
            Some(clients) => server.with_client_cert_verifier(Arc::new(ReplicaOrClient { own: own.clone(), clients })),
            None => server.with_no_client_auth(),
        };
        let mismatch = |error| of_key(&format!("{error}: is it the key of {}?", files.cert.display()));
        let mut server = server.with_single_cert(chain.clone(), key.clone_key()).map_err(mismatch)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // No session resumption: a resumed session would not show a certificate that has expired since. Connections are
        // long-lived, so resumption saves nothing.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;

        let replica = Replica { own: own.clone(), algorithms: provider.signature_verification_algorithms };
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| of_cert(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(replica))
            .with_client_auth_cert(chain, key)
            .map_err(mismatch)?;
        Ok(Self { own, expires, server: Arc::new(server), client: Arc::new(client) })
    }

    /// The identity behind a chain that the handshake has verified.
    fn identify(&self, chain: Option<&[CertificateDer<'_>]>) -> ClientIdentity {
        match chain.and_then(<[_]>::first) {
            None => ClientIdentity::Anonymous,
            Some(certificate) if *certificate == self.own => ClientIdentity::Replica,
            Some(certificate) => ClientIdentity::Client(common_name(certificate)),
        }
    }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    certificates.map_err(|error| TlsError::unusable(path, &error))
}

fn expiry(certificate: &[u8]) -> Result<SystemTime, Err<X509Error>> {
    let (_, certificate) = X509Certificate::from_der(certificate)?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
    Ok(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Why no client that verifies certificates accepts this one, if so. Go 1.15 and later ignore the Common Name, and so
/// does kube-scheduler.
fn refusal_by_clients(certificate: &[u8]) -> Result<Option<&'static str>, Err<X509Error>> {
    let (_, certificate) = X509Certificate::from_der(certificate)?;
    let names = certificate.subject_alternative_name().map_err(Err::Failure)?;
    let usage = certificate.extended_key_usage().map_err(Err::Failure)?;
    let names_host = |name: &GeneralName<'_>| matches!(name, GeneralName::DNSName(_) | GeneralName::IPAddress(_));
    Ok(if !names.is_some_and(|names| names.value.general_names.iter().any(names_host)) {
        Some(
            "it has no DNS name or IP address as its subjectAltName, and kube-scheduler ignores its Common Name: make one with subjectAltName=DNS:NAME, where NAME is the serverName of the scheduler's tlsConfig or the host of its urlPrefix",
        )
    } else if usage.is_some_and(|usage| !usage.value.server_auth && !usage.value.any) {
        Some(
            "its extendedKeyUsage lacks serverAuth, so no client accepts it: make one with extendedKeyUsage=serverAuth",
        )
    } else {
        None
    })
}

/// The Common Name of a certificate that has exactly one.
///
/// Kubernetes takes the last of several. Nobody needs several, and two readers might not agree on which one counts.
fn common_name(certificate: &CertificateDer<'_>) -> Option<Arc<str>> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let mut names = certificate.subject().iter_common_name();
    let (name, None) = (names.next()?, names.next()) else { return None };
    name.as_str().ok().filter(|name| !name.is_empty()).map(Arc::from)
}

// === impl TlsError ===

impl TlsError {
    fn unusable(path: &Path, error: &dyn fmt::Display) -> Self {
        Self::Unusable { path: path.to_owned(), text: error.to_string() }
    }
}
