//! How many decisions and binds are under way at once.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Instant,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use crate::{WireConfig, answer::Call, error::WireError};

/// Each group has turns of its own, so that slow policies of one hold up no other.
pub(super) struct Turns {
    decisions: RwLock<HashMap<Box<str>, Arc<Semaphore>>>,
    decisions_at_once: usize,
    /// Apart from decisions, which must not wait for the API server.
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

    /// Waits for a turn, until the request's time is over.
    ///
    /// The group must be one that exists, or the root: for each there is something to keep.
    ///
    /// # Errors
    /// If there is no turn until the deadline.
    pub(super) async fn take(
        &self,
        call: Call,
        group: &str,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, WireError> {
        let turns = if call == Call::Bind { Arc::clone(&self.binds) } else { self.of_group(group) };
        if let Ok(permit) = Arc::clone(&turns).try_acquire_owned() {
            return Ok(permit);
        }
        match timeout_at(deadline.into(), turns.acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| WireError::internal("no decisions are made any more")),
            Err(_) => Err(WireError::no_turn()),
        }
    }

    fn of_group(&self, group: &str) -> Arc<Semaphore> {
        let known = self.decisions.read().unwrap_or_else(PoisonError::into_inner).get(group).cloned();
        known.unwrap_or_else(|| {
            let mut groups = self.decisions.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(groups.entry(group.into()).or_insert_with(|| Arc::new(Semaphore::new(self.decisions_at_once))))
        })
    }
}
