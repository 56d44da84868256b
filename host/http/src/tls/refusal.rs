//! Why a client is refused, in words that name the change to make.

use std::{io, time::Duration};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Why there is no TLS connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HandshakeRefusal {
    #[error("it sent no certificate: its tlsConfig needs certFile and keyFile")]
    NoCertificate,
    #[error("its certificate has expired ({0})")]
    Expired(String),
    #[error("its certificate is not valid yet ({0}): is a clock wrong?")]
    NotYetValid(String),
    #[error("its certificate is of a CA that is not in --tls-client-ca")]
    UnknownCa,
    #[error("its certificate is not good for a client: {0}")]
    BadCertificate(String),
    #[error("it speaks neither TLS 1.2 nor 1.3")]
    Version,
    #[error("it has no cipher, group or protocol in common with us: {0}")]
    NothingInCommon(String),
    #[error("it does not accept our certificate ({0:?}): see caFile and serverName of its tlsConfig, and our expiry")]
    OurCertificate(AlertDescription),
    #[error("it speaks plain HTTP: its urlPrefix should begin with https://")]
    PlainHttp,
    #[error("the data that it sent are no TLS: {0}")]
    NotTls(String),
    #[error("it did not finish its handshake within {0:?}")]
    TooSlow(Duration),
}

// === impl HandshakeRefusal ===

impl HandshakeRefusal {
    /// The refusal behind a failed handshake; `None` if the peer just left.
    pub(super) fn of(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?.downcast_ref::<Error>()?;
        Some(match error {
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::InvalidCertificate(error) => Self::of_certificate(error),
            // Clients of TLS 1.1 and below have no signature algorithms, which is noticed before their version.
            Error::PeerIncompatible(
                PeerIncompatible::Tls12NotOffered
                | PeerIncompatible::Tls12NotOfferedOrEnabled
                | PeerIncompatible::SignatureAlgorithmsExtensionRequired,
            ) => Self::Version,
            Error::PeerIncompatible(_) | Error::NoApplicationProtocol => Self::NothingInCommon(error.to_string()),
            Error::AlertReceived(alert) => Self::OurCertificate(*alert),
            _ => Self::NotTls(error.to_string()),
        })
    }

    fn of_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired(error.to_string()),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotYetValid(error.to_string())
            }
            // An authority of the right name with another key shows as a wrong signature.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::UnknownCa,
            _ => Self::BadCertificate(error.to_string()),
        }
    }

    /// One word for the metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::NoCertificate => "no_certificate",
            Self::Expired(_) => "expired",
            Self::NotYetValid(_) => "not_yet_valid",
            Self::UnknownCa => "unknown_ca",
            Self::BadCertificate(_) => "bad_certificate",
            Self::Version => "version",
            Self::NothingInCommon(_) => "nothing_in_common",
            Self::OurCertificate(_) => "our_certificate",
            Self::PlainHttp => "plain_http",
            Self::NotTls(_) => "not_tls",
            Self::TooSlow(_) => "too_slow",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_a_handshake_has_its_reason() {
        let table = [
            (Error::NoCertificatesPresented, "no_certificate"),
            (CertificateError::Expired.into(), "expired"),
            (CertificateError::NotValidYet.into(), "not_yet_valid"),
            (CertificateError::UnknownIssuer.into(), "unknown_ca"),
            (CertificateError::BadSignature.into(), "unknown_ca"),
            (CertificateError::InvalidPurpose.into(), "bad_certificate"),
            (PeerIncompatible::Tls12NotOffered.into(), "version"),
            (PeerIncompatible::SignatureAlgorithmsExtensionRequired.into(), "version"),
            (PeerIncompatible::NoCipherSuitesInCommon.into(), "nothing_in_common"),
            (Error::NoApplicationProtocol, "nothing_in_common"),
            (Error::AlertReceived(AlertDescription::BadCertificate), "our_certificate"),
            (rustls::InvalidMessage::InvalidContentType.into(), "not_tls"),
        ];
        for (error, reason) in table {
            let refusal = HandshakeRefusal::of(&io::Error::new(io::ErrorKind::InvalidData, error));
            assert_eq!(refusal.map(|refusal| refusal.reason()), Some(reason));
        }
        assert_eq!(HandshakeRefusal::of(&io::ErrorKind::UnexpectedEof.into()), None);
    }
}
