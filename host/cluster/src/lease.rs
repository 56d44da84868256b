//! One gateway of several binds: the holder of a Lease (`coordination.k8s.io/v1`).
//!
//! ```text
//!  Elector ──> Election (pure: whose is the Lease, by our own clock?)
//!     │ API server            │
//!     v                       v
//!  LeadershipState ──> Term ──> Fenced connections (nothing is written once the term is over)
//! ```
//!
//! Why no two of them write at the same time, and the assumptions behind it, are explained in
//! `docs/decisions/0013-who-binds.md`.

mod election;
mod elector;
mod fence;
mod record;
mod term;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};
use tracing::{info, warn};

use self::elector::Elector;
use crate::{ApiServer, clock};

pub use record::URL_ANNOTATION;
pub use term::Term;

pub(crate) use fence::fenced_client;

/// The shortest and the longest Lease.
const BOUNDS: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(5)];

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

/// The times of an election; all are parts of the Lease's duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimings {
    lease: Duration,
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

/// A running election; dropping it ends the campaign without releasing the Lease.
#[derive(Debug)]
pub struct Leadership {
    state: watch::Receiver<LeadershipState>,
    identity: Arc<str>,
    terms: Arc<AtomicU64>,
    /// Stops the task, which then releases the Lease.
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

// === impl LeaseTimings ===

impl LeaseTimings {
    /// The times of a Lease of this duration: whole seconds, as in the API, from 1 s to 5 min.
    pub fn new(lease: Duration) -> Self {
        let seconds = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
        Self { lease: Duration::from_secs(seconds).clamp(BOUNDS[0], BOUNDS[1]) }
    }

    /// The time that a holder holds the Lease after it sent its last renewal.
    pub fn lease(self) -> Duration {
        self.lease
    }

    /// The time from one renewal, or read, to the next; also the time that a request about the Lease may take.
    pub(crate) fn renew(self) -> Duration {
        self.lease / 5
    }

    /// The pause after a request that failed.
    pub(crate) fn pause(self) -> Duration {
        self.lease / 20
    }

    /// A holder stops writing this long before its Lease expires: every write has arrived or failed by then.
    pub fn settle(self) -> Duration {
        self.unacknowledged() + self.handling()
    }

    /// The time that bytes may stay unacknowledged in the kernel's buffer, before it drops them.
    pub(crate) fn unacknowledged(self) -> Duration {
        self.lease / 9
    }

    /// The time that the API server may work on a write.
    pub(crate) fn handling(self) -> Duration {
        self.lease * 2 / 9
    }

    /// The time that other candidates wait after they saw a Lease of this duration change: clocks have different rates.
    pub(crate) fn expiry(self) -> Duration {
        self.lease * 9 / 8
    }
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

// === impl Leadership ===

impl Leadership {
    /// Applies for the Lease once `ready`, and renews it while it is ours. Must be called within a runtime.
    pub fn start(api: &ApiServer, config: LeaseConfig, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        let (publish, state) = watch::channel(LeadershipState::Vacant("the cluster is not listed yet".into()));
        // No other process has this identity, not even this one after a restart.
        let identity: Arc<str> = format!("{}_{:016x}", config.identity, clock::random()).into();
        let terms = Arc::<AtomicU64>::default();
        let elector = Elector::new(api, config, Arc::clone(&identity), Arc::clone(&terms), publish);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(elector.run(ready, stopped));
        Self { state, identity, terms, running: Mutex::new(Some((stop, task))) }
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
        let running = self.running.lock().take();
        let Some((stop, task)) = running else { return };
        // Without a receiver it has already ended.
        let _ = stop.send(());
        if let Err(error) = task.await {
            warn!(%error, "the election failed");
        }
    }
}

impl Drop for Leadership {
    fn drop(&mut self) {
        if let Some((_, task)) = self.running.get_mut() {
            task.abort();
        }
        if let LeadershipState::Leads(term) = self.leadership_state() {
            term.end();
        }
    }
}
