//! Runs an [`Election`] against the API server, and publishes its state.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::PostParams};
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};
use tracing::{info, warn};

use super::{
    LeadershipState, LeaseRecord, LeaseTimings, Term,
    election::{Election, ElectionStep, LeaseWrite, NotWritten},
    record::lease_of,
};
use crate::{
    ApiServer,
    clock::{self, sleep_until, timeout},
};

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

/// A running election; dropping it ends the campaign without releasing the Lease.
#[derive(Debug)]
pub struct Leadership {
    state: watch::Receiver<LeadershipState>,
    identity: Arc<str>,
    terms: Arc<AtomicU64>,
    running: Mutex<Option<ElectorTask>>,
}

#[derive(Debug)]
struct ElectorTask {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

struct Elector {
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

// === impl Leadership ===

impl Leadership {
    /// Applies for the Lease once `ready`, and renews it while it is ours. Must be called within a runtime.
    pub fn start(api: &ApiServer, config: LeaseConfig, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        let (publish, leadership_state) =
            watch::channel(LeadershipState::Vacant("the cluster is not listed yet".into()));
        let (me, terms) = (unique(&config.identity), Arc::<AtomicU64>::default());
        let election = Election::new(Arc::clone(&me), config.timings, clock::now());
        let client = Api::namespaced(api.client().clone(), &config.namespace);
        let elector = Elector {
            election,
            api: client,
            config,
            last: None,
            term: None,
            terms: Arc::clone(&terms),
            publish,
            failure: None,
        };
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(elector.run(ready, stopped));
        Self { state: leadership_state, identity: me, terms, running: Mutex::new(Some(ElectorTask { stop, task })) }
    }

    /// The current state.
    pub fn leadership_state(&self) -> LeadershipState {
        self.state.borrow().clone()
    }

    /// Notifies of every change of the state.
    pub fn changes(&self) -> watch::Receiver<LeadershipState> {
        self.state.clone()
    }

    /// The identity of this process in the Lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The number of terms of this process.
    pub fn terms(&self) -> u64 {
        self.terms.load(Ordering::Relaxed)
    }

    /// Stops writing, and releases the Lease once all writes are settled.
    pub async fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ElectorTask { stop, task }) = running else { return };
        // Without a receiver it has already ended.
        let _ = stop.send(());
        if let Err(error) = task.await {
            warn!(%error, "the election failed");
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().unwrap_or_else(PoisonError::into_inner) {
            running.task.abort();
        }
        if let LeadershipState::Leads(term) = self.leadership_state() {
            term.end();
        }
    }
}

// === impl LeaseConfig ===

impl LeaseConfig {
    fn lease(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

// === impl Elector ===

impl Elector {
    async fn run(mut self, ready: impl Future<Output = ()>, mut stopped: oneshot::Receiver<()>) {
        tokio::select! {
            biased;
            _ = &mut stopped => return,
            () = ready => info!(identity = %self.election.me(), lease = self.config.lease(), "this gateway asks for the Lease"),
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
                            self.let_go().await;
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

    async fn read(&mut self) {
        let result = timeout(self.config.timings.patience(), self.api.get_opt(&self.config.name)).await;
        let lease = match result {
            Ok(Ok(lease)) => {
                self.failure = None;
                let record = lease.as_ref().map(LeaseRecord::of);
                self.last = lease;
                Ok(record)
            }
            Ok(Err(error)) => {
                self.failed("read", &error);
                Err(())
            }
            Err(_) => {
                self.failed("read", &"the API server does not answer in time");
                Err(())
            }
        };
        self.election.read(clock::now(), lease);
    }

    async fn write(&mut self, lease_write: &LeaseWrite) -> Result<LeaseRecord, NotWritten> {
        let config = &self.config;
        let lease = lease_of(self.last.as_ref(), &config.name, lease_write, config.timings, &config.url);
        let parameters = PostParams::default();
        let written = async {
            match lease_write.version {
                Some(_) => self.api.replace(&config.name, &parameters, &lease).await,
                None => self.api.create(&parameters, &lease).await,
            }
        };
        match timeout(config.timings.patience(), written).await {
            Ok(Ok(lease)) => {
                self.failure = None;
                let record = LeaseRecord::of(&lease);
                self.last = Some(lease);
                Ok(record)
            }
            // 404: it was deleted; or, on creation, its namespace does not exist.
            Ok(Err(kube::Error::Api(status)))
                if status.code == 409 || (status.code == 404 && lease_write.version.is_some()) =>
            {
                Err(NotWritten::Conflict)
            }
            Ok(Err(error)) => {
                self.failed("written", &error);
                Err(NotWritten::Unknown)
            }
            Err(_) => {
                self.failed("written", &"the API server does not answer in time");
                Err(NotWritten::Unknown)
            }
        }
    }

    /// Releases the Lease as soon as no write of ours can be carried out any more.
    async fn let_go(&mut self) {
        let Some(term) = self.term.take() else { return };
        term.settle().await;
        let Some(lease_write) = self.election.release(clock::now()) else { return };
        if self.write(&lease_write).await.is_ok() {
            info!(lease = self.config.lease(), "let go of the Lease");
        } else {
            warn!(lease = self.config.lease(), "the Lease could not be released: it expires by itself");
        }
    }

    /// Logs a failure once.
    fn failed(&mut self, what: &str, error: &dyn std::fmt::Display) {
        let lease = self.config.lease();
        let text: Arc<str> = format!("the Lease {lease} cannot be {what}: {error}").into();
        if self.failure.as_ref() != Some(&text) {
            warn!("{text}");
            self.failure = Some(text);
        }
    }

    fn publish(&mut self, now: Instant) {
        let leadership_state = self.stand(now);
        self.publish.send_if_modified(|before| {
            if leadership_state.is(before) {
                return false;
            }
            leadership_state.log(before);
            *before = leadership_state;
            true
        });
    }

    fn stand(&mut self, now: Instant) -> LeadershipState {
        let Some(hold) = self.election.hold(now) else {
            if let Some(term) = self.term.take() {
                term.end();
            }
            let is_own = |url: &Option<Arc<str>>| {
                url.as_ref().is_some_and(|url| url.trim_end_matches('/') == self.config.url.trim_end_matches('/'))
            };
            return match self.election.leader(now) {
                Some(LeaseRecord { holder: Some(holder), url, .. }) if is_own(url) => LeadershipState::Awaits {
                    holder: Arc::clone(holder),
                    until: self.election.runs_out().unwrap_or(now),
                },
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

/// An identity that no other process has, not even this one after a restart.
fn unique(identity: &str) -> Arc<str> {
    format!("{identity}_{:016x}", clock::random()).into()
}
