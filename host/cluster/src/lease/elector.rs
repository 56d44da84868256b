//! Runs an [`Election`] against the API server, and publishes its state.

use std::{future::Future, sync::Arc, time::Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::PostParams};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use super::election::{Election, ElectionStep, LeaseConfig, holder, url};
use crate::{
    ApiServer,
    api::error_text,
    clock::{self, Elapsed, sleep_until, timeout},
    term::Term,
};

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
    publish: watch::Sender<LeadershipState>,
    /// The last failure, until a request succeeds.
    failure: Option<Arc<str>>,
}

// === impl Elector ===

impl Elector {
    /// An elector for this candidate, which publishes its state.
    pub(super) fn new(api: &ApiServer, config: LeaseConfig, publish: watch::Sender<LeadershipState>) -> Self {
        let api = Api::namespaced(api.client().clone(), &config.namespace);
        Self { election: Election::new(config, clock::now()), api, publish, failure: None }
    }

    /// Runs once `ready`, until it is stopped.
    pub(super) async fn run(mut self, ready: impl Future<Output = ()>, mut stopped: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = ready => {
                let LeaseConfig { namespace, name, identity, .. } = self.election.config();
                info!(identity, lease = format!("{namespace}/{name}"), "this gateway asks for the Lease");
            }
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
                ElectionStep::Read => {
                    let LeaseConfig { name, timings, .. } = self.election.config();
                    let answer = timeout(timings.renew(), self.api.get_opt(name)).await;
                    let lease = self.content("read", answer);
                    self.election.read(clock::now(), lease);
                }
                ElectionStep::Write(lease) => {
                    let sent = clock::now();
                    let result = self.write(&lease).await;
                    self.election.wrote(sent, clock::now(), result);
                }
            }
        }
    }

    async fn write(&mut self, lease: &Lease) -> Result<Lease, ()> {
        let (LeaseConfig { name, timings, .. }, parameters) = (self.election.config(), PostParams::default());
        let write = async {
            match lease.metadata.resource_version {
                Some(_) => self.api.replace(name, &parameters, lease).await,
                None => self.api.create(&parameters, lease).await,
            }
        };
        let answer = timeout(timings.renew(), write).await;
        self.content("written", answer)
    }

    /// The content of an answer; a failure is logged once.
    fn content<T>(&mut self, what: &str, answer: Result<kube::Result<T>, Elapsed>) -> Result<T, ()> {
        let why = match answer {
            Ok(Ok(content)) => {
                self.failure = None;
                return Ok(content);
            }
            // Somebody else has written or created it.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => return Err(()),
            Ok(Err(error)) => error_text(&error),
            Err(Elapsed) => "the API server does not answer in time".to_owned(),
        };
        let LeaseConfig { namespace, name, .. } = self.election.config();
        let text: Arc<str> = format!("the Lease {namespace}/{name} cannot be {what}: {why}").into();
        if self.failure.as_ref() != Some(&text) {
            warn!("{text}");
            self.failure = Some(text);
        }
        Err(())
    }

    /// Releases the Lease as soon as no write of ours can be carried out any more.
    async fn release(&mut self) {
        let Some(term) = self.election.hold(clock::now()).cloned() else { return };
        term.settle().await;
        let Some(lease) = self.election.release(clock::now()) else { return };
        if self.write(&lease).await.is_ok() {
            info!("the Lease is released");
        }
    }

    fn publish(&mut self, now: Instant) {
        let state = self.state(now);
        self.publish.send_if_modified(|before| {
            if state == *before {
                return false;
            }
            match (&state, &*before) {
                (LeadershipState::Leads(term), _) => info!(term = term.number(), "this gateway leads"),
                (_, LeadershipState::Leads(_)) => warn!(now = ?state, "this gateway leads no more"),
                _ => info!(now = ?state, "this gateway does not lead"),
            }
            *before = state;
            true
        });
    }

    fn state(&self, now: Instant) -> LeadershipState {
        if let Some(term) = self.election.hold(now) {
            return LeadershipState::Leads(Arc::clone(term));
        }
        let config = self.election.config();
        if let Some(lease) = self.election.leader(now) {
            let (holder, url) = (holder(lease).unwrap_or_default(), url(lease));
            // As a container leaves it that was killed and started again.
            if url.is_some_and(|url| url.trim_end_matches('/') == config.url.trim_end_matches('/')) {
                let why = format!("the Lease of this gateway's predecessor ({holder}) has not run out");
                return LeadershipState::Vacant(why.into());
            }
            return LeadershipState::Follows { holder: holder.into(), url: url.map(Arc::from) };
        }
        LeadershipState::Vacant(match &self.failure {
            Some(failure) => Arc::clone(failure),
            None if self.election.is_quiet(now) => {
                let wait = config.timings.expiry();
                format!("the Lease was created again: it takes effect after {wait:.0?}, in case another was deleted")
                    .into()
            }
            None => "nobody holds the Lease".into(),
        })
    }
}

#[cfg(test)]
mod tests;
