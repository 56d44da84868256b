//! Nodes and pods as they are now, for a command that answers one question.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Cluster, Pod};

use crate::{ApiServer, ClusterWatch, ConnectError, api_watch, clock};

/// The wait after which the user gets the reason.
const REPORT_AFTER: Duration = Duration::from_secs(2);

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
    waiting: impl FnOnce(&str),
) -> Result<Arc<Cluster>, ConnectError> {
    let watch = ClusterWatch::start(api, MAX_STALENESS, |_| {}, |_| {});
    let mut waiting = Some(waiting);
    while clock::timeout(REPORT_AFTER.min(max_silence), watch.synced()).await.is_err() {
        let status = watch.status();
        let why = status.doubts(MAX_STALENESS).join("; ");
        // Events of one resource are no sign that the list of another will come.
        let all = [&status.nodes, &status.pods, &status.waiting, &status.namespaces];
        let missing = all.into_iter().find(|resource| !resource.is_listed);
        if missing.is_some_and(|resource| resource.silent_for() >= max_silence) {
            return Err(ConnectError::NotListed { url: api.url().to_owned(), max_silence, why });
        }
        if let Some(waiting) = waiting.take() {
            waiting(&format!("waiting for {}: {why}", api.url()));
        }
    }
    Ok(watch.cluster())
}

/// Lists the pods that wait for a node and are not nominated for one.
///
/// # Errors
/// Says why the API server does not give them.
pub async fn list_waiting(api: &ApiServer) -> Result<Vec<Pod>, String> {
    api_watch::waiting_pods(api.client()).await
}
