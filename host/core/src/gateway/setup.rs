//! Sets up a gateway: its bounds, and the parts that it is joined to.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;

use super::Gateway;
use crate::{
    decide::{BIND_CALL_WAIT, BindCalls, BindQueue, CacheLimit, NodeCache, Observer},
    model::{Binder, Blocking, Clock, facts::FactStore},
};

/// Upper bound of a request's time, so that no deadline overflows.
const MAX_REQUEST_TIMEOUT: Duration = Duration::from_hours(24);

impl Gateway {
    /// A gateway with no policies and no cluster.
    pub fn new(clock: Arc<dyn Clock>, observer: Arc<dyn Observer>, request_timeout: Duration) -> Self {
        let (roster, cluster) = (ArcSwap::default(), ArcSwapOption::default());
        let (binder, binds) = (OnceLock::new(), BindQueue::default());
        let cache_limit = CacheLimit::default();
        let node_cache = NodeCache::new(cache_limit.columns());
        Self {
            roster,
            cluster,
            facts: FactStore::default(),
            publishing: Mutex::default(),
            bind_calls: BindCalls::new(BIND_CALL_WAIT),
            node_cache,
            binder,
            binds,
            clock,
            observer,
            request_timeout: request_timeout.min(MAX_REQUEST_TIMEOUT),
            cache_limit,
            expects_cluster: AtomicBool::new(false),
            blocking: OnceLock::new(),
        }
    }

    /// Bounds the decision cache.
    #[must_use]
    pub fn with_cache_limit(self, cache_limit: CacheLimit) -> Self {
        Self { cache_limit, node_cache: NodeCache::new(cache_limit.columns()), ..self }
    }

    /// Bounds the bytes of the nodes that requests bring whole, as far as they are kept for the next.
    #[must_use]
    pub fn with_node_memory(self, max_bytes: usize) -> Self {
        Self { node_cache: self.node_cache.with_max_bytes(max_bytes), ..self }
    }

    /// A view of the cluster is on its way: until it is there, requests that need it are told so.
    pub fn expect_cluster(&self) {
        self.expects_cluster.store(true, Ordering::Relaxed);
    }

    /// Runs work that may take long in this way, such as calls of guests; of several calls the first counts.
    pub fn set_blocking(&self, blocking: Blocking) {
        let _ = self.blocking.set(blocking);
    }

    /// Binds through this from now on; of several calls the first counts.
    pub fn set_binder(&self, binder: Arc<dyn Binder>) {
        // A second one could not know the pods that the first has bound.
        let _ = self.binder.set(binder);
    }
}
