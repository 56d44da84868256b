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

use std::future::Future;

use parking_lot::Mutex;
use tokio::{
    sync::{oneshot, watch},
    task::JoinHandle,
};
use tracing::warn;

use self::elector::Elector;
use crate::{ApiServer, clock};

pub use election::{LeaseConfig, URL_ANNOTATION};
pub use elector::LeadershipState;

/// A running election; dropping it ends the campaign without releasing the Lease.
#[derive(Debug)]
pub struct Leadership {
    state: watch::Receiver<LeadershipState>,
    identity: String,
    /// Stops the task, which then releases the Lease; dropped, the task ends without.
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

// === impl Leadership ===

impl Leadership {
    /// Applies for the Lease once `ready`, and renews it while it is ours. Must be called within a runtime.
    pub fn start(api: &ApiServer, mut config: LeaseConfig, ready: impl Future<Output = ()> + Send + 'static) -> Self {
        let (publish, state) = watch::channel(LeadershipState::Vacant("the cluster is not listed yet".into()));
        // No other process has this identity, not even this one after a restart.
        config.identity = format!("{}_{:016x}", config.identity, clock::random());
        let identity = config.identity.clone();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(Elector::new(api, config, publish).run(ready, stopped));
        Self { state, identity, running: Mutex::new(Some((stop, task))) }
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
