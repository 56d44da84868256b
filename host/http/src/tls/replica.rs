//! Replicas of one deployment know each other by their certificate.
//!
//! They are called by address, which is in no certificate, and share one Secret. So a peer is a replica if it proves
//! possession of our own certificate's key. A renewed Secret may reach one replica before the other, so a certificate
//! that has one of our names, by an authority that we know, is accepted, too. Only names that are ours alone count:
//! every server may have a certificate for `localhost`.

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

/// Begins the names of the loopback interface: `localhost`, `localhost.localdomain`, `localhost6`.
const LOCALHOST: &str = "localhost";

/// Verifies the certificate of another replica.
#[derive(Debug)]
pub(super) struct Replicas {
    own: CertificateDer<'static>,
    /// The DNS names by which a renewed certificate is known; see [`is_distinctive`].
    names: Vec<Box<str>>,
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
        Ok(Self { own: own.clone(), names: distinctive_names(own)?, signed, algorithms })
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

    /// Checks that a certificate is ours, or has a name of ours by an authority that we know.
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
        let Some(signed) = &self.signed else { return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)) };
        // The verifier takes a wildcard for any name that it covers, so the name must also be there as it is.
        let theirs = dns_names(certificate)?;
        let shared = self.names.iter().find(|name| theirs.iter().any(|their| their.eq_ignore_ascii_case(name)));
        let name = shared.and_then(|name| ServerName::try_from(&**name).ok());
        let name = name.ok_or(Error::InvalidCertificate(CertificateError::NotValidForName))?;
        signed.verify_server_cert(certificate, issuers, &name, ocsp, now)
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

/// The DNS names of a certificate by which its holder can be told from others.
fn distinctive_names(certificate: &CertificateDer<'_>) -> Result<Vec<Box<str>>, Error> {
    Ok(dns_names(certificate)?.into_iter().filter(|name| is_distinctive(name)).map(Box::from).collect())
}

/// The DNS names of a certificate, wildcards too.
fn dns_names<'c>(certificate: &'c CertificateDer<'_>) -> Result<Vec<&'c str>, Error> {
    let parsed = webpki::EndEntityCert::try_from(certificate)
        .map_err(|error| Error::General(format!("the certificate cannot be read: {error}")))?;
    Ok(parsed.valid_dns_names().collect())
}

/// Whether a name is that of one service.
///
/// `localhost` is every machine, a wildcard covers others' names, and a name without a dot, such as `plimsoll`, is
/// another service in each namespace.
fn is_distinctive(name: &str) -> bool {
    let is_loopback =
        |label: &str| label.get(..LOCALHOST.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(LOCALHOST));
    let name = name.trim_end_matches('.');
    name.contains('.') && !name.contains('*') && !name.split('.').any(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_others_have_too_is_not_distinctive() {
        for name in ["plimsoll.test", "plimsoll.kube-system.svc", "PLIMSOLL.example.com."] {
            assert!(is_distinctive(name), "{name}");
        }
        for name in [
            "",
            ".",
            "plimsoll",
            "plimsoll.",
            "localhost",
            "LocalHost.",
            "localhost.localdomain",
            "localhost6.localdomain6",
            "plimsoll.localhost",
            "*.plimsoll.test",
            "*",
        ] {
            assert!(!is_distinctive(name), "{name}");
        }
    }
}
