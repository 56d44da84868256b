//! Why a client is refused, in words that say what to change; and how often the log says so.

use std::{
    collections::HashMap,
    io,
    time::{Duration, Instant},
};

use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// Lines of the log for one reason in one [`WINDOW`]: a hostile peer must not fill it.
const LINES: u32 = 5;
const WINDOW: Duration = Duration::from_secs(10);

/// Why there is no TLS connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
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
    #[error("what it sent is no TLS: {0}")]
    NotTls(String),
    #[error("it did not finish its handshake within {0:?}")]
    TooSlow(Duration),
}

/// How much was logged for each reason.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: HashMap<&'static str, Page>,
}

#[derive(Debug)]
struct Page {
    since: Instant,
    lines: u32,
    unlogged: u64,
}

// === impl Refusal ===

impl Refusal {
    /// What a failed handshake says; none if the peer just left.
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

// === impl Ledger ===

impl Ledger {
    /// Whether a line may be logged, and how many before it were not.
    pub(crate) fn admit(&mut self, reason: &'static str, now: Instant) -> Option<u64> {
        let page = self.pages.entry(reason).or_insert(Page { since: now, lines: 0, unlogged: 0 });
        if now.duration_since(page.since) >= WINDOW {
            (page.since, page.lines) = (now, 0);
        }
        if page.lines == LINES {
            page.unlogged += 1;
            return None;
        }
        page.lines += 1;
        Some(std::mem::take(&mut page.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_fills_neither_the_log_nor_hides_another_reason() {
        let (mut ledger, start) = (Ledger::default(), Instant::now());
        let logged = (0..1000).filter(|_| ledger.admit("expired", start).is_some()).count();
        assert_eq!(logged, LINES as usize);
        assert_eq!(ledger.admit("unknown_ca", start), Some(0));
        // The next line tells how many were left out.
        assert_eq!(ledger.admit("expired", start + WINDOW), Some(1000 - u64::from(LINES)));
        assert_eq!(ledger.admit("expired", start + WINDOW), Some(0));
    }

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
            let refusal = Refusal::of(&io::Error::new(io::ErrorKind::InvalidData, error));
            assert_eq!(refusal.map(|refusal| refusal.reason()), Some(reason));
        }
        assert_eq!(Refusal::of(&io::ErrorKind::UnexpectedEof.into()), None);
    }
}
