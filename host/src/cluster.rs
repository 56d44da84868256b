//! Where the gateway's view of the cluster comes from, and how it gets there.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Result;
use plimsoll_cluster::{ApiServer, ClusterWatch, Credentials, SnapshotError, SnapshotWatch};
use plimsoll_core::{Cluster, Gateway};
use tracing::{error, info};

use crate::metrics::Metrics;

/// The interval at which the snapshot file is checked.
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(500);

/// The message in the log and in `/readyz` if the file is missing or bad.
const SNAPSHOT_KEPT: &str = "the snapshot cannot be read: the last good one stays";

/// Where nodes and pods come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClusterSource {
    /// From each request; names alone cannot be answered.
    Requests,
    /// From a file.
    Snapshot(PathBuf),
    /// From the API server, in a context of the kubeconfig if one was named.
    ApiServer(Credentials, Option<String>),
}

/// Keeps the view up to date until it is dropped.
pub(crate) enum WatchGuard {
    Requests,
    Snapshot { _watch: SnapshotWatch },
    ApiServer(ApiServer, Arc<ClusterWatch>),
}

// === impl ClusterSource ===

impl ClusterSource {
    /// The source that the user named; in a pod the API server by default.
    pub(crate) fn resolve(
        snapshot: Option<PathBuf>,
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        in_cluster: bool,
    ) -> Self {
        match (snapshot, kubeconfig) {
            (Some(snapshot), _) => Self::Snapshot(snapshot),
            (None, Some(kubeconfig)) => Self::ApiServer(Credentials::File(kubeconfig), context),
            (None, None) if in_cluster => Self::ApiServer(Credentials::ServiceAccount, None),
            (None, None) => Self::Requests,
        }
    }

    /// Starts to publish clusters to the gateway.
    ///
    /// # Errors
    /// If the snapshot cannot be read, or the credentials cannot be used. An API server that is down is
    /// waited for.
    pub(crate) fn follow(
        self,
        gateway: &Arc<Gateway>,
        metrics: &Arc<Metrics>,
        staleness: Duration,
    ) -> Result<WatchGuard> {
        match self {
            Self::Requests => {
                info!(
                    "no view of the cluster: requests that name nodes will fail; give --kubeconfig or --snapshot, or print the stanza with `scheduler-config --full-nodes`"
                );
                if Credentials::is_in_environment() {
                    // `$KUBECONFIG` is not used: a gateway that binds must not start in whatever cluster a shell points to.
                    info!("KUBECONFIG is set, but `serve` does not use it: name the file with --kubeconfig");
                }
                Ok(WatchGuard::Requests)
            }
            Self::Snapshot(path) => Ok(WatchGuard::Snapshot { _watch: follow_snapshot(path, gateway, metrics)? }),
            Self::ApiServer(credentials, context) => {
                let api = ApiServer::connect(&credentials, context.as_deref())?;
                info!(url = api.url(), "watching the cluster");
                let (viewer, published) = (Arc::clone(gateway), Arc::clone(metrics));
                let watch = ClusterWatch::start(&api, staleness, move |cluster| {
                    published.cluster(&cluster);
                    viewer.set_cluster(cluster);
                });
                let watch = Arc::new(watch);
                Ok(WatchGuard::ApiServer(api, watch))
            }
        }
    }
}

// === impl WatchGuard ===

impl WatchGuard {
    /// The watch on the API server, where there is one.
    pub(crate) fn watch(&self) -> Option<&Arc<ClusterWatch>> {
        match self {
            Self::ApiServer(_, watch) => Some(watch),
            Self::Requests | Self::Snapshot { .. } => None,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_before_the_service_account() {
        let (file, config) = (PathBuf::from("cluster.json"), PathBuf::from("kubeconfig"));
        let table = [
            (Some(file.clone()), None, true, ClusterSource::Snapshot(file)),
            (None, Some(config.clone()), true, ClusterSource::ApiServer(Credentials::File(config), None)),
            (None, None, true, ClusterSource::ApiServer(Credentials::ServiceAccount, None)),
            (None, None, false, ClusterSource::Requests),
        ];
        for (snapshot, kubeconfig, in_cluster, expected) in table {
            assert_eq!(ClusterSource::resolve(snapshot, kubeconfig, None, in_cluster), expected);
        }
    }
}
