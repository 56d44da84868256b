//! Runs an [`Election`] against the API server, and publishes its state.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::PostParams};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use super::{
    election::{Election, ElectionStep},
    record::{LeaseRecord, LeaseWrite, lease_of},
};
use crate::{
    ApiServer,
    api::error_text,
    clock::{self, sleep_until, timeout},
    term::{LeaseTimings, Term},
};

const NO_ANSWER: &str = "the API server does not answer in time";

/// The Lease and the candidate.
#[derive(Debug, Clone)]
pub struct LeaseConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The pod's name, for people. The identity that is written is unique to the process.
    pub identity: String,
    /// The URL to which standbys forward while this process leads.
    pub url: String,
    /// The duration of the Lease.
    pub timings: LeaseTimings,
}

/// The state of the election, for this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadershipState {
    /// It holds the Lease.
    Leads(Arc<Term>),
    /// Another process holds the Lease.
    Follows {
        /// Its identity.
        holder: Arc<str>,
        /// Its URL, if the Lease has one.
        url: Option<Arc<str>>,
    },
    /// No holder can be asked; the text says why.
    Vacant(Arc<str>),
}

/// Runs an election.
pub(super) struct Elector {
    election: Election,
    api: Api<Lease>,
    config: LeaseConfig,
    /// The Lease as it was last read: fields that others wrote are kept.
    last: Option<Lease>,
    term: Option<Arc<Term>>,
    /// The number of terms of this process.
    terms: Arc<AtomicU64>,
    publish: watch::Sender<LeadershipState>,
    /// The last failure, until a request succeeds.
    failure: Option<Arc<str>>,
}

// === impl LeadershipState ===

impl LeadershipState {
    fn log(&self, before: &Self) {
        match (self, before) {
            (Self::Leads(term), _) => info!(term = term.number(), "this gateway leads"),
            (now, Self::Leads(_)) => warn!(?now, "this gateway leads no more"),
            (Self::Follows { holder, url }, _) => {
                info!(holder = &**holder, url = url.as_deref(), "another gateway leads");
            }
            (Self::Vacant(why), _) => info!(why = &**why, "no gateway leads"),
        }
    }
}

// === impl Elector ===

impl Elector {
    /// An elector with this `identity`, which counts its `terms` and publishes its state.
    pub(super) fn new(
        api: &ApiServer,
        config: LeaseConfig,
        identity: Arc<str>,
        terms: Arc<AtomicU64>,
        publish: watch::Sender<LeadershipState>,
    ) -> Self {
        let timings = config.timings;
        Self {
            election: Election::new(identity, timings, clock::now()),
            api: Api::namespaced(api.client().clone(), &config.namespace),
            config,
            last: None,
            term: None,
            terms,
            publish,
            failure: None,
        }
    }

    /// Runs once `ready`, until it is stopped.
    pub(super) async fn run(mut self, ready: impl Future<Output = ()>, mut stopped: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = ready => info!(identity = %self.election.identity(), lease = self.lease(), "this gateway asks for the Lease"),
        }
        loop {
            let now = clock::now();
            let step = self.election.step(now);
            self.publish(now);
            match step {
                ElectionStep::Wait(until) => tokio::select! {
                    biased;
                    result = &mut stopped => {
                        if result.is_ok() {
                            self.release().await;
                        }
                        return;
                    }
                    () = sleep_until(until) => {}
                },
                ElectionStep::Read => self.read().await,
                ElectionStep::Write(lease_write) => {
                    let sent = clock::now();
                    let result = self.write(&lease_write).await;
                    self.election.wrote(sent, clock::now(), &lease_write, result);
                }
            }
        }
    }

    fn lease(&self) -> String {
        format!("{}/{}", self.config.namespace, self.config.name)
    }

    async fn read(&mut self) {
        let result = timeout(self.config.timings.renew(), self.api.get_opt(&self.config.name)).await;
        let lease = match result {
            Ok(Ok(lease)) => {
                self.failure = None;
                let record = lease.as_ref().map(LeaseRecord::of);
                self.last = lease;
                Ok(record)
            }
            Ok(Err(error)) => {
                self.failed("read", &error_text(&error));
                Err(())
            }
            Err(_) => {
                self.failed("read", NO_ANSWER);
                Err(())
            }
        };
        self.election.read(clock::now(), lease);
    }

    async fn write(&mut self, lease_write: &LeaseWrite) -> Result<LeaseRecord, ()> {
        let config = &self.config;
        let lease = lease_of(self.last.as_ref(), &config.name, lease_write, config.timings, &config.url);
        let parameters = PostParams::default();
        let written = async {
            match lease_write.version {
                Some(_) => self.api.replace(&config.name, &parameters, &lease).await,
                None => self.api.create(&parameters, &lease).await,
            }
        };
        let failure = match timeout(config.timings.renew(), written).await {
            Ok(Ok(lease)) => {
                self.failure = None;
                let record = LeaseRecord::of(&lease);
                self.last = Some(lease);
                return Ok(record);
            }
            // Somebody else has written, created or deleted it. 404 on creation: its namespace does not exist.
            Ok(Err(kube::Error::Api(status)))
                if status.code == 409 || (status.code == 404 && lease_write.version.is_some()) =>
            {
                return Err(());
            }
            Ok(Err(error)) => error_text(&error),
            Err(_) => NO_ANSWER.to_owned(),
        };
        self.failed("written", &failure);
        Err(())
    }

    /// Releases the Lease as soon as no write of ours can be carried out any more.
    async fn release(&mut self) {
        let Some(term) = self.term.take() else { return };
        term.settle().await;
        let Some(lease_write) = self.election.release(clock::now()) else { return };
        if self.write(&lease_write).await.is_ok() {
            info!(lease = self.lease(), "let go of the Lease");
        } else {
            warn!(lease = self.lease(), "the Lease could not be released: it expires by itself");
        }
    }

    /// Logs a failure once.
    fn failed(&mut self, what: &str, error: &str) {
        let lease = self.lease();
        let text: Arc<str> = format!("the Lease {lease} cannot be {what}: {error}").into();
        if self.failure.as_ref() != Some(&text) {
            warn!("{text}");
            self.failure = Some(text);
        }
    }

    fn publish(&mut self, now: Instant) {
        let leadership_state = self.leadership_state(now);
        self.publish.send_if_modified(|before| {
            if leadership_state == *before {
                return false;
            }
            leadership_state.log(before);
            *before = leadership_state;
            true
        });
    }

    fn leadership_state(&mut self, now: Instant) -> LeadershipState {
        let Some(hold) = self.election.hold(now) else {
            if let Some(term) = self.term.take() {
                term.end();
            }
            let own = self.config.url.trim_end_matches('/');
            return match self.election.leader(now) {
                // As a container leaves it that was killed and started again.
                Some(LeaseRecord { holder: Some(holder), url: Some(url), .. }) if url.trim_end_matches('/') == own => {
                    let why = format!("the Lease of this gateway's predecessor ({holder}) has not run out");
                    LeadershipState::Vacant(why.into())
                }
                Some(LeaseRecord { holder: Some(holder), url, .. }) => {
                    LeadershipState::Follows { holder: Arc::clone(holder), url: url.clone() }
                }
                _ => LeadershipState::Vacant(self.vacancy(now)),
            };
        };
        let term = if let Some(term) = self.term.take().filter(|term| term.number() == hold.term) {
            term.extend(hold);
            term
        } else {
            self.terms.fetch_add(1, Ordering::Relaxed);
            Arc::new(Term::new(hold, self.config.timings, now))
        };
        self.term = Some(Arc::clone(&term));
        LeadershipState::Leads(term)
    }

    fn vacancy(&self, now: Instant) -> Arc<str> {
        match &self.failure {
            Some(failure) => Arc::clone(failure),
            None if self.election.quiet_until(now).is_some() => {
                let wait = self.config.timings.expiry();
                format!("the Lease was created again: it takes effect after {wait:.0?}, in case another was deleted")
                    .into()
            }
            None => "nobody holds the Lease".into(),
        }
    }
}

#[cfg(test)]
mod tests;
