//! Nodes and pods as they are now, for a command that answers one question.

use std::{sync::Arc, time::Duration};

use plimsoll_core::Cluster;

use crate::{ApiServer, ClusterWatch, ConnectError, WatchStatus, clock};

/// The wait after which the user gets the reason.
const REPORT_AFTER: Duration = Duration::from_secs(2);

/// The interval at which the progress of the lists is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Only the lists matter here; the watches that follow them must not restart meanwhile.
const MAX_STALENESS: Duration = Duration::from_mins(10);

/// Lists Nodes and pods once; if it takes longer than 2 s, `waiting` is called once with the reason.
///
/// A long list may take any time: it fails only if the API server has been silent for `max_silence`.
///
/// # Errors
/// If the API server does not give both lists.
pub async fn list_once(
    api: &ApiServer,
    max_silence: Duration,
    mut waiting: impl FnMut(&str),
) -> Result<Arc<Cluster>, ConnectError> {
    let watch = ClusterWatch::start(api, MAX_STALENESS, |_| {});
    let started = clock::now();
    let mut is_reported = false;
    while clock::timeout(CHECK_INTERVAL, watch.synced()).await.is_err() {
        let (status, waited) = (watch.status(), clock::now().saturating_duration_since(started));
        let why = || status.doubts(MAX_STALENESS).join("; ");
        if waited >= REPORT_AFTER && !is_reported {
            waiting(&format!("waiting for {}: {}", api.url(), why()));
            is_reported = true;
        }
        if silence(&status) >= max_silence {
            return Err(ConnectError::NotListed { url: api.url().to_owned(), max_silence, why: why() });
        }
    }
    Ok(watch.cluster())
}

/// The time since the last sign of life of either list, or since the start.
fn silence(status: &WatchStatus) -> Duration {
    status.nodes.silent_for.min(status.pods.silent_for)
}
