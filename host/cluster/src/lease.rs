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
mod record;

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};
use tracing::warn;

use self::elector::Elector;
use crate::{ApiServer, clock};

pub use elector::{LeadershipState, LeaseConfig};
pub use record::URL_ANNOTATION;

/// A running election; dropping it ends the campaign without releasing the Lease.
#[derive(Debug)]
pub struct Leadership {
    state: watch::Receiver<LeadershipState>,
    identity: Arc<str>,
    terms: Arc<AtomicU64>,
    /// Stops the task, which then releases the Lease.
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
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
