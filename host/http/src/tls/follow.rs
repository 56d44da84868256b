//! Reloads the files when they change: a renewed Secret is mounted, or a certificate is replaced in place.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use plimsoll_system::Debouncer;
use tokio::time::{MissedTickBehavior, interval};

use super::{Contents, Material, Tls, TlsError};

/// The result of one read of the files; errors as text, so that they can be compared.
type FileState = Result<Contents, String>;

/// Debounces changes. A state is judged again when one of its certificates becomes valid or expires.
struct Changes {
    states: Debouncer<FileState>,
    judge_again: Option<SystemTime>,
}

// === impl Tls ===

impl Tls {
    /// Reads the files at this interval and loads changed ones; it never returns.
    ///
    /// Certificate, key and client CA are replaced together or not at all: if they do not fit, the old ones stay in
    /// force, and the log says why.
    pub async fn follow(self: Arc<Self>, every: Duration) {
        let mut changes = Changes::new(self.loaded.clone(), SystemTime::now());
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut expired = false;
        loop {
            ticks.tick().await;
            let tls = Arc::clone(&self);
            // The files may be on a slow volume.
            let state = tokio::task::spawn_blocking(move || Contents::read(&tls.files).map_err(|error| chain(&error)));
            let Ok(state) = state.await else { continue };
            if let Some(state) = changes.add(state, SystemTime::now()) {
                self.judge(state);
            }
            let now_expired = self.material.load().not_after < SystemTime::now();
            if now_expired && !expired {
                tracing::error!(file = %self.files.cert.display(), "TLS: the certificate in force has expired: kube-scheduler refuses it");
            }
            expired = now_expired;
        }
    }

    fn judge(&self, state: &FileState) {
        let material = match state {
            Ok(contents) => Material::new(&self.files, contents, SystemTime::now()).map_err(|error| chain(&error)),
            Err(error) => Err(error.clone()),
        };
        self.observer.reloaded(material.is_ok());
        match material {
            Ok(material) => {
                let expires = humantime::format_rfc3339_seconds(material.not_after);
                self.observer.expires(material.not_after);
                self.material.store(Arc::new(material));
                // The line is true once it is read: the certificates and their metric come first.
                tracing::info!(file = %self.files.cert.display(), %expires, "TLS: other certificates are in force");
            }
            Err(error) => {
                tracing::error!(error, "TLS: the files cannot be used: the certificates in force stay");
            }
        }
    }
}

// === impl Changes ===

impl Changes {
    fn new(loaded: Contents, now: SystemTime) -> Self {
        Self { judge_again: loaded.next_change(now), states: Debouncer::new(Ok(loaded)) }
    }

    /// Adds a state, and returns it if it has settled and must be judged.
    fn add(&mut self, state: FileState, now: SystemTime) -> Option<&FileState> {
        let is_due = self.judge_again.is_some_and(|at| at < now);
        let state = self.states.add(state, is_due)?;
        self.judge_again = state.as_ref().ok().and_then(|contents| contents.next_change(now));
        Some(state)
    }
}

/// An error with its causes on one line.
fn chain(error: &TlsError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_judged_again_when_a_certificate_becomes_valid_and_when_one_expires() {
        let certificate = |from: i32, to: i32| {
            let key = rcgen::KeyPair::generate().unwrap();
            let mut params = rcgen::CertificateParams::new(vec!["plimsoll.test".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(from, 1, 1);
            params.not_after = rcgen::date_time_ymd(to, 1, 1);
            params.self_signed(&key).unwrap().pem().into_bytes()
        };
        let (cert, client_ca) = (certificate(2030, 2040), Some(certificate(2001, 2035)));
        let state = Contents { cert, key: vec![], client_ca };
        let at = |year: u32| humantime::parse_rfc3339(&format!("{year}-06-01T00:00:00Z")).unwrap();
        let mut changes = Changes::new(state.clone(), at(2029));
        let mut judged = |year| changes.add(Ok(state.clone()), at(year)).is_some();
        let years = [2029, 2030, 2030, 2034, 2035, 2036, 2040, 2041].map(|year| (year, judged(year)));
        let expected = [2029, 2030, 2030, 2034, 2035, 2036, 2040, 2041];
        let changes = [false, true, false, false, true, false, true, false];
        assert_eq!(years.to_vec(), expected.into_iter().zip(changes).collect::<Vec<_>>());
    }
}
