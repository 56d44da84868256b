//! Replicas of one deployment know each other by their certificate.
//!
//! They are called by address, which is in no certificate, and share one Secret. So a peer is a replica if it proves
//! possession of our own certificate's key. A renewed Secret may reach one replica before the other, so a certificate
//! for one of our names by an authority that we know is accepted, too.

use std::sync::Arc;

use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

/// Verifies the certificate of another replica.
#[derive(Debug)]
pub(super) struct Replicas {
    own: CertificateDer<'static>,
    names: Vec<ServerName<'static>>,
    /// `None` if we know no authority except our own certificate.
    signed: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// Verifies clients of the listener: by the client CA, or as another replica.
#[derive(Debug)]
struct ReplicasOrClients {
    own: CertificateDer<'static>,
    clients: Arc<dyn ClientCertVerifier>,
}

// === impl Replicas ===

impl Replicas {
    /// Trusts our own certificate, the issuers in its chain, and these authorities.
    pub(super) fn new(
        chain: &[CertificateDer<'static>],
        authorities: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let (own, issuers) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(issuers.iter().chain(authorities).cloned());
        let signed = if roots.is_empty() {
            None
        } else {
            let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Some(verifier.build().map_err(|error| Error::General(error.to_string()))?)
        };
        let algorithms = provider.signature_verification_algorithms;
        Ok(Self { own: own.clone(), names: names(own)?, signed, algorithms })
    }

    /// Whether a client that has shown this verified chain is another replica: our own certificate, or one that we
    /// would accept from a replica that we call.
    pub(super) fn know(&self, certificate: &CertificateDer<'_>, issuers: &[CertificateDer<'_>]) -> bool {
        self.verify(certificate, issuers, &[], UnixTime::now()).is_ok()
    }

    /// The same for the listener.
    pub(super) fn or_clients(
        own: &CertificateDer<'static>,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Arc<dyn ClientCertVerifier> {
        Arc::new(ReplicasOrClients { own: own.clone(), clients })
    }

    /// Checks that a certificate is ours, or one for a name of ours by an authority that we know.
    fn verify(
        &self,
        certificate: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *certificate == self.own {
            return Ok(ServerCertVerified::assertion());
        }
        let mut refusal = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let Some(signed) = &self.signed else { return Err(refusal) };
        for name in &self.names {
            match signed.verify_server_cert(certificate, issuers, name, ocsp, now) {
                Ok(verified) => return Ok(verified),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }
}

impl ServerCertVerifier for Replicas {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _address: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify(end_entity, intermediates, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for ReplicasOrClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.clients.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if *end_entity == self.own {
            return Ok(ClientCertVerified::assertion());
        }
        self.clients.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.clients.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.clients.supported_verify_schemes()
    }
}

/// The DNS names of a certificate, without wildcards.
fn names(certificate: &CertificateDer<'_>) -> Result<Vec<ServerName<'static>>, Error> {
    let parsed = webpki::EndEntityCert::try_from(certificate)
        .map_err(|error| Error::General(format!("the certificate cannot be read: {error}")))?;
    let names = parsed.valid_dns_names().filter_map(|name| ServerName::try_from(name.to_owned()).ok());
    Ok(names.collect())
}
