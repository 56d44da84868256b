//! The handle of a running election.

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

use super::{LeadershipState, LeaseConfig, elector::Elector};
use crate::{ApiServer, clock};

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

// === impl Leadership ===

impl Leadership {
    /// Applies for the Lease once `ready`, and renews it while it is ours. Must be called within a runtime.
    pub fn start(api: &ApiServer, config: LeaseConfig, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        let (publish, leadership_state) =
            watch::channel(LeadershipState::Vacant("the cluster is not listed yet".into()));
        let (identity, terms) = (unique(&config.identity), Arc::<AtomicU64>::default());
        let elector = Elector::new(api, config, Arc::clone(&identity), Arc::clone(&terms), publish);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(elector.run(ready, stopped));
        Self { state: leadership_state, identity, terms, running: Mutex::new(Some(ElectorTask { stop, task })) }
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
        if let Some(running) = self.running.get_mut() {
            running.task.abort();
        }
        if let LeadershipState::Leads(term) = self.leadership_state() {
            term.end();
        }
    }
}

/// An identity that no other process has, not even this one after a restart.
fn unique(identity: &str) -> Arc<str> {
    format!("{identity}_{:016x}", clock::random()).into()
}
