//! TLS of the extender wire: the clients that may speak to it, and the replacement of its certificates while it runs.
//!
//! ```text
//!  files ──> contents ──> material (one server configuration, one client configuration)
//!              ▲               │ swapped as a whole
//!           follow             ▼
//!                     handshake ──> a stream of HTTP, or a refusal that is logged and counted
//! ```

mod contents;
mod der;
mod error;
mod files;
mod follow;
mod handshake;
mod identity;
mod material;
mod refusal;
mod replica;
mod validity;

use std::{fmt, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;

pub(crate) use self::identity::ClientIdentity;
use self::{contents::Contents, material::Material, refusal::HandshakeRefusal};
pub use self::{error::TlsError, files::TlsFiles};

/// Observes TLS events; it must not block.
pub trait TlsObserver: Send + Sync {
    /// A client was refused; the reason is one of a few words.
    fn refused(&self, reason: &'static str);

    /// The files have changed, and were accepted or refused.
    fn reloaded(&self, taken: bool);

    /// The serving certificate in force ends then.
    fn expires(&self, at: SystemTime);
}

/// The certificates in force, shared by the listener and by calls to other replicas.
///
/// A connection keeps the material that was in force when it began.
pub struct Tls {
    files: TlsFiles,
    observer: Arc<dyn TlsObserver>,
    material: ArcSwap<Material>,
    /// The contents of the loaded files, from which [`Tls::follow`] starts.
    loaded: Contents,
}

// === impl Tls ===

impl Tls {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// Names the file that is missing, malformed, expired, or does not fit the others.
    pub fn load(files: TlsFiles, observer: Arc<dyn TlsObserver>) -> Result<Self, TlsError> {
        let loaded = Contents::read(&files)?;
        let material = Material::new(&files, &loaded, SystemTime::now())?;
        observer.expires(material.not_after);
        let material = ArcSwap::from_pointee(material);
        Ok(Self { files, observer, material, loaded })
    }

    /// Whether a client must show a certificate.
    pub fn asks_for_certificates(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// Logs and counts a refusal. The logging layer limits floods.
    fn refuse(&self, peer: std::net::SocketAddr, refusal: &HandshakeRefusal) {
        let reason = refusal.reason();
        self.observer.refused(reason);
        tracing::warn!(%peer, reason, "TLS: a client was refused: {refusal}");
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}
