//! Wakes pods that policies left without a node, once they would keep one.
//!
//! kube-scheduler has no event for a fact, a policy, a mode or a namespace. A change of a `CSIStorageCapacity` makes it try
//! again the pods that extenders have rejected, and no others (docs/decisions/0072-wake.md).

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use plimsoll_cluster::ApiServer;
use plimsoll_core::Gateway;
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tracing::{debug, warn};

use crate::metrics::WakeMetrics;

/// The annotation that is changed.
const WAKE: &str = "plimsoll.dev/wake";

/// The shortest pause between two wakes, and the longest: a change must not wait for long.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// Within these limits, pods are decided again for at most one part in so many of the time.
const SHARE: u32 = 20;

/// Time limit for the API server.
const API_TIMEOUT: Duration = Duration::from_secs(5);

/// Wakes the pods of one gateway.
pub(crate) struct Waker {
    gateway: Arc<Gateway>,
    api: ApiServer,
    namespace: String,
    /// The name of the `CSIStorageCapacity`.
    object: String,
    metrics: WakeMetrics,
    /// The last failure, which the log has.
    failure: Option<String>,
}

// === impl Waker ===

impl Waker {
    /// Has the gateway keep the pods that it leaves without a node.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        api: &ApiServer,
        namespace: String,
        object: String,
        metrics: WakeMetrics,
    ) -> Self {
        gateway.keep_rejected_pods();
        Self { gateway: Arc::clone(gateway), api: api.clone(), namespace, object, metrics, failure: None }
    }

    /// Wakes pods after each change that frees one; it never returns.
    #[expect(clippy::disallowed_methods, reason = "the pause bounds how often kube-scheduler is told")]
    pub(crate) async fn run(mut self) {
        loop {
            let (gateway, began) = (Arc::clone(&self.gateway), Instant::now());
            // Its only error is a panic, which the panic hook has logged.
            let is_any_free = spawn_blocking(move || gateway.frees_rejected_pods()).await.unwrap_or(false);
            let took = began.elapsed();
            if is_any_free {
                self.wake().await;
            }
            sleep((took * SHARE).clamp(PAUSES.0, PAUSES.1)).await;
        }
    }

    async fn wake(&mut self) {
        let Self { namespace, object, .. } = self;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let patched = timeout(API_TIMEOUT, self.api.annotate_storage_capacity(namespace, object, WAKE, &now));
        let patched = patched.await.unwrap_or_else(|_| Err("the API server does not answer in time".to_owned()));
        self.metrics.woke(patched.is_ok());
        if patched.is_err() {
            self.gateway.not_woken();
        }
        match &patched {
            Ok(()) => debug!("kube-scheduler is told to try rejected pods again"),
            Err(error) if self.failure.as_ref() != Some(error) => {
                let object = format!("{namespace}/{object}");
                warn!(
                    object,
                    error,
                    "kube-scheduler cannot be told to try rejected pods again, because this CSIStorageCapacity cannot be patched: they may wait for 5 minutes"
                );
            }
            Err(_) => {}
        }
        self.failure = patched.err();
    }
}
