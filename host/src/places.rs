//! Keeps the places of pods before their bind: ends tentative ones, and nominates pods for nodes that kube-scheduler has not
//! looked at.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_cluster::{ApiServer, ClusterWatch, NominateError};
use plimsoll_core::{Gateway, NominationPatch, PodId};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{sleep_until, timeout},
};
use tracing::debug;

use crate::{metrics::NominationMetrics, trouble::Trouble};

/// From this version on kube-scheduler nominates pods that wait for volumes or claims (KEP-5278).
const NOMINATES: (u32, u32) = (1, 35);

/// Time limit for the API server.
const API_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for all nominations at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The time to the next look where nothing is due.
const IDLE: Duration = Duration::from_mins(1);

/// What does not happen while the API server refuses nominations.
const EFFECT: &str = "pods cannot be nominated for nodes that kube-scheduler has not looked at: they wait for a wake, or for kube-scheduler to look there";

/// Keeps the places of one gateway.
pub(crate) struct PlaceKeeper {
    gateway: Arc<Gateway>,
    api: ApiServer,
    /// Told when there may be something to do.
    due: Arc<Notify>,
    metrics: NominationMetrics,
    trouble: Trouble,
}

// === impl PlaceKeeper ===

impl PlaceKeeper {
    /// Has the gateway give places, which the watch keeps, and choose nominations if it `nominates`.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        api: &ApiServer,
        watch: &Arc<ClusterWatch>,
        nominates: bool,
        metrics: NominationMetrics,
        trouble: Trouble,
    ) -> Arc<Self> {
        let due = Arc::new(Notify::new());
        let told = Arc::clone(&due);
        gateway.set_places(Arc::clone(watch) as _);
        gateway.set_keeper(nominates, Box::new(move || told.notify_one()));
        Arc::new(Self { gateway: Arc::clone(gateway), api: api.clone(), due, metrics, trouble })
    }

    /// Does what is due; it never returns.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut sending = JoinSet::new();
        let keeper = Arc::clone(&self);
        sending.spawn(async move {
            if keeper.api.version().await >= NOMINATES {
                keeper.gateway.expect_nominations();
            }
        });
        loop {
            let (patches, next) = self.gateway.keep_places();
            for patch in patches {
                let keeper = Arc::clone(&self);
                sending.spawn(async move {
                    let is_written = keeper.send(&patch).await;
                    keeper.gateway.nomination_sent(&patch, is_written);
                    keeper.due.notify_one();
                });
            }
            while sending.try_join_next().is_some() {}
            let next = next.unwrap_or_else(|| Instant::now() + IDLE);
            tokio::select! {
                () = self.due.notified() => {}
                () = sleep_until(next.into()) => {}
            }
        }
    }

    /// Takes all nominations back, before the process ends.
    pub(crate) async fn take_back(&self) {
        let patches = self.gateway.take_back_nominations();
        let all = async {
            for patch in &patches {
                self.send(patch).await;
            }
        };
        let _ = timeout(SHUTDOWN_TIMEOUT, all).await;
    }

    /// Sends one; returns whether the API server has taken it.
    async fn send(&self, patch: &NominationPatch) -> bool {
        let NominationPatch { pod, was, node } = patch;
        let sent = timeout(API_TIMEOUT, self.api.nominate(pod, was.as_deref(), node.as_deref())).await;
        let outcome = match &sent {
            Ok(Ok(())) => "written",
            // Preemption has chosen a node, or the pod has one, or is gone.
            Ok(Err(NominateError::Changed)) => "outdated",
            _ => "failed",
        };
        self.metrics.sent(node.is_some(), outcome);
        let (id, node) = (PodId::of(pod).map(tracing::field::display), node.as_deref());
        debug!(pod = id, node, outcome, "a pod was nominated for a node, or for none");
        let failure = match sent {
            Ok(Ok(()) | Err(NominateError::Changed)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the API server does not answer in time".to_owned()),
        };
        self.trouble.note(EFFECT, "pods/status", failure.as_deref().map_or(Ok(()), Err));
        outcome == "written"
    }
}
