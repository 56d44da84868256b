//! Limits for concurrent decisions and binds.

use std::{collections::HashMap, sync::Arc, time::Instant};

use parking_lot::RwLock;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout_at,
};

use crate::{WireConfig, error::WireError, extender_verb::ExtenderVerb};

/// Each group has its permits, so that slow policies of one group do not block another.
pub(super) struct ConcurrencyLimits {
    decisions: RwLock<HashMap<Box<str>, Arc<Semaphore>>>,
    decisions_at_once: usize,
    /// Separate from decisions, which must not wait for the API server.
    binds: Arc<Semaphore>,
}

// === impl ConcurrencyLimits ===

impl ConcurrencyLimits {
    pub(super) fn new(config: &WireConfig) -> Self {
        let at_once = |concurrency: usize| concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            decisions: RwLock::default(),
            decisions_at_once: at_once(config.max_decisions),
            binds: Arc::new(Semaphore::new(at_once(config.max_binds))),
        }
    }

    /// Waits for a permit until the request's deadline.
    ///
    /// The group must be one that exists, or the root: one semaphore is kept per group. `exists` tells which do.
    ///
    /// # Errors
    /// If there is no permit before the deadline.
    pub(super) async fn take(
        &self,
        verb: ExtenderVerb,
        group: &str,
        exists: impl Fn(&str) -> bool,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, WireError> {
        let concurrency =
            if verb == ExtenderVerb::Bind { Arc::clone(&self.binds) } else { self.of_group(group, exists) };
        if let Ok(permit) = Arc::clone(&concurrency).try_acquire_owned() {
            return Ok(permit);
        }
        match timeout_at(deadline.into(), concurrency.acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| WireError::internal("no decisions are made any more")),
            Err(_) => Err(WireError::queue_timeout()),
        }
    }

    fn of_group(&self, group: &str, exists: impl Fn(&str) -> bool) -> Arc<Semaphore> {
        let known = self.decisions.read().get(group).cloned();
        known.unwrap_or_else(|| {
            let mut groups = self.decisions.write();
            // A group that is gone is kept until its last decision is through.
            groups.retain(|name, permits| Arc::strong_count(permits) > 1 || exists(name));
            Arc::clone(groups.entry(group.into()).or_insert_with(|| Arc::new(Semaphore::new(self.decisions_at_once))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn groups_that_are_gone_are_forgotten_once_their_decisions_are_through() {
        let limits = ConcurrencyLimits::new(&WireConfig { max_decisions: 1, ..WireConfig::default() });
        let take = async |group: &str, there: &[&str]| {
            let exists = |name: &str| there.contains(&name);
            limits.take(ExtenderVerb::Filter, group, exists, Instant::now()).await
        };
        let known = || {
            let mut known: Vec<_> = limits.decisions.read().keys().map(ToString::to_string).collect();
            known.sort_unstable();
            known
        };
        let held = take("a", &["a", "b"]).await.unwrap();
        drop(take("b", &["a", "b"]).await.unwrap());
        drop(take("c", &["c"]).await.unwrap());
        assert_eq!(known(), ["a", "c"]);
        assert!(take("a", &["a", "c"]).await.is_err(), "a decision of it is under way");
        drop(held);
        for number in 0..100 {
            let name = format!("group-{number}");
            drop(take(&name, &["c", &name]).await.unwrap());
        }
        assert_eq!(known(), ["c", "group-99"]);
    }
}
