//! Where the gateway's view of the cluster comes from, and how it gets there.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use plimsoll_cluster::{ApiServer, ClusterWatch, Credentials, SnapshotError, SnapshotWatch};
use plimsoll_core::{Cluster, Gateway};
use tracing::{error, info};

use crate::{args::ViewArgs, metrics::Metrics};

/// The interval at which the snapshot file is checked.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(500);

/// The message in the log and in `/readyz` if the file is missing or bad.
const SNAPSHOT_KEPT: &str = "the snapshot cannot be read: the last good one stays";

/// Keeps the view up to date until it is dropped.
pub(crate) enum WatchGuard {
    Requests,
    Snapshot { _watch: SnapshotWatch },
    ApiServer(ApiServer, Arc<ClusterWatch>),
}

/// Starts to publish clusters to the gateway, from the source that the user named; in a pod from the API server by default.
///
/// # Errors
/// If the snapshot cannot be read, or the credentials cannot be used. An API server that is down is waited for.
pub(crate) fn follow(args: ViewArgs, gateway: &Arc<Gateway>, metrics: &Arc<Metrics>) -> Result<WatchGuard> {
    let credentials = match (args.snapshot, args.kubeconfig) {
        (Some(file), _) => return Ok(WatchGuard::Snapshot { _watch: follow_snapshot(file, gateway, metrics)? }),
        (None, Some(kubeconfig)) => Credentials::File(kubeconfig),
        (None, None) if ApiServer::is_in_cluster() => Credentials::ServiceAccount,
        (None, None) => {
            info!(
                "no view of the cluster: requests that name nodes will fail; give --kubeconfig or --snapshot, or print the stanza with `scheduler-config --full-nodes`"
            );
            if Credentials::is_in_environment() {
                // `$KUBECONFIG` is not used: a gateway that binds must not start in whatever cluster a shell points to.
                info!("KUBECONFIG is set, but `serve` does not use it: name the file with --kubeconfig");
            }
            return Ok(WatchGuard::Requests);
        }
    };
    let api = ApiServer::connect(&credentials, args.context.as_deref())?;
    info!(url = api.url(), "watching the cluster");
    let (viewer, published) = (Arc::clone(gateway), Arc::clone(metrics));
    let publish = move |cluster: Arc<Cluster>| {
        published.cluster(&cluster);
        viewer.set_cluster(cluster);
    };
    let told = Arc::clone(gateway);
    let watch = ClusterWatch::start(&api, args.max_staleness, publish, move |change| told.waiting_changed(change));
    Ok(WatchGuard::ApiServer(api, Arc::new(watch)))
}

// === impl WatchGuard ===

impl WatchGuard {
    /// The API server and the watch on it, where there is one.
    pub(crate) fn api(&self) -> Option<(&ApiServer, &Arc<ClusterWatch>)> {
        match self {
            Self::ApiServer(api, watch) => Some((api, watch)),
            Self::Requests | Self::Snapshot { .. } => None,
        }
    }
}

fn follow_snapshot(path: PathBuf, gateway: &Arc<Gateway>, metrics: &Arc<Metrics>) -> Result<SnapshotWatch> {
    let (gateway, metrics) = (gateway.clone(), metrics.clone());
    let publish = move |read: Result<Arc<Cluster>, SnapshotError>| match read {
        Ok(cluster) => {
            info!(nodes = cluster.slots().len(), pods = cluster.pod_count(), "snapshot read");
            metrics.snapshot_problem.store(None);
            metrics.cluster(&cluster);
            gateway.set_cluster(cluster);
        }
        Err(error) => {
            metrics.snapshot_problem.store(Some(Arc::new(format!("{SNAPSHOT_KEPT}: {error}"))));
            error!(%error, "{SNAPSHOT_KEPT}");
        }
    };
    Ok(plimsoll_cluster::watch_snapshot(path, SNAPSHOT_INTERVAL, publish)?)
}
