//! How many decisions and binds are under way at once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{WireConfig, answer::Call};

/// Each group has turns of its own, so that slow policies of one hold up no other.
pub(super) struct Turns {
    decisions: RwLock<HashMap<Box<str>, Arc<Semaphore>>>,
    decisions_at_once: usize,
    /// Apart from decisions, which shall not wait for the API server.
    binds: Arc<Semaphore>,
}

// === impl Turns ===

impl Turns {
    pub(super) fn new(config: &WireConfig) -> Self {
        let at_once = |turns: usize| turns.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            decisions: RwLock::default(),
            decisions_at_once: at_once(config.max_decisions),
            binds: Arc::new(Semaphore::new(at_once(config.max_binds))),
        }
    }

    /// Waits for a turn; none is given once the server is gone.
    ///
    /// The group must be one that exists, or the root: for each there is something to keep.
    pub(super) async fn take(&self, call: Call, group: &str) -> Option<OwnedSemaphorePermit> {
        let turns = if call == Call::Bind { Arc::clone(&self.binds) } else { self.of_group(group) };
        turns.acquire_owned().await.ok()
    }

    fn of_group(&self, group: &str) -> Arc<Semaphore> {
        let known = self.decisions.read().unwrap_or_else(PoisonError::into_inner).get(group).cloned();
        known.unwrap_or_else(|| {
            let mut groups = self.decisions.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(groups.entry(group.into()).or_insert_with(|| Arc::new(Semaphore::new(self.decisions_at_once))))
        })
    }
}
