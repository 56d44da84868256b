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
use tracing::debug;

use crate::{metrics::WakeMetrics, trouble::Trouble};

/// The annotation that is changed.
const WAKE: &str = "plimsoll.dev/wake";

/// The shortest pause between two passes.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after wakes that have failed; the pauses double.
const MAX_PAUSE: Duration = Duration::from_secs(32);

/// Pods are decided again for at most one part in so many of the time.
const SHARE: u32 = 20;

/// What does not happen while the API server refuses the patch.
const EFFECT: &str = "kube-scheduler cannot be told to try rejected pods again: they may wait for 5 minutes";

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
    trouble: Trouble,
}

// === impl Waker ===

impl Waker {
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        api: &ApiServer,
        namespace: String,
        object: String,
        metrics: WakeMetrics,
        trouble: Trouble,
    ) -> Self {
        Self { gateway: Arc::clone(gateway), api: api.clone(), namespace, object, metrics, trouble }
    }

    /// Wakes pods after each change that frees one; it never returns.
    #[expect(clippy::disallowed_methods, reason = "the pause bounds how often kube-scheduler is told")]
    pub(crate) async fn run(self) {
        let mut pause = MIN_PAUSE;
        loop {
            let (gateway, began) = (Arc::clone(&self.gateway), Instant::now());
            // Its only error is a panic, which the panic hook has logged: all pods that were due still are.
            let wake = spawn_blocking(move || gateway.revisit_waiting_pods()).await.unwrap_or(None);
            let share = began.elapsed() * SHARE;
            let Some(wake) = wake else {
                sleep(share.max(MIN_PAUSE)).await;
                continue;
            };
            if self.wake().await {
                self.gateway.woken(wake);
                pause = MIN_PAUSE;
            } else {
                // The pods are due as before.
                pause = MAX_PAUSE.min(pause * 2);
            }
            sleep(share.max(pause)).await;
        }
    }

    /// Tells kube-scheduler to try rejected pods again; returns whether it was told.
    async fn wake(&self) -> bool {
        let Self { namespace, object, .. } = self;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let patched = timeout(API_TIMEOUT, self.api.annotate_storage_capacity(namespace, object, WAKE, &now));
        let patched = patched.await.unwrap_or_else(|_| Err("the API server does not answer in time".to_owned()));
        self.metrics.woke(patched.is_ok());
        if patched.is_ok() {
            debug!("kube-scheduler is told to try rejected pods again");
        }
        let object = format!("CSIStorageCapacity {namespace}/{object}");
        let outcome = patched.as_ref().map_or_else(|error| Err(error.as_str()), |()| Ok(()));
        self.trouble.note(EFFECT, &object, outcome);
        patched.is_ok()
    }
}
