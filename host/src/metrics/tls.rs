//! Metrics of TLS: refused clients, reloads, and the expiry of the certificate.

use std::time::{SystemTime, UNIX_EPOCH};

use plimsoll_http::TlsObserver;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use super::labels::OneLabel;

/// Metrics of handshakes and certificates.
#[derive(Default)]
pub(crate) struct TlsMetrics {
    refused: Family<OneLabel, Counter>,
    reloads: Family<OneLabel, Counter>,
    /// 1 while the files differ from the certificates in force and cannot be used.
    files_refused: Gauge,
    /// Unix seconds; 0 without TLS.
    expiry: Gauge,
}

// === impl TlsMetrics ===

impl TlsMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("tls_refused", "Clients that got no TLS connection, by reason", self.refused.clone());
        registry.register("tls_reloads", "Changes of the TLS files by result", self.reloads.clone());
        let help = "1 while the TLS files cannot be used and the certificates in force stay";
        registry.register("tls_files_refused", help, self.files_refused.clone());
        let help = "When the serving certificate in force ends, in Unix time; 0 without TLS";
        registry.register_with_unit("tls_certificate_expiry_timestamp", help, Unit::Seconds, self.expiry.clone());
    }
}

impl TlsObserver for TlsMetrics {
    fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&[("reason", reason)]).inc();
    }

    fn reloaded(&self, taken: bool) {
        let result = if taken { "loaded" } else { "refused" };
        self.reloads.get_or_create(&[("result", result)]).inc();
        self.files_refused.set(i64::from(!taken));
    }

    fn expires(&self, at: SystemTime) {
        let seconds = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.expiry.set(seconds as i64);
    }
}
