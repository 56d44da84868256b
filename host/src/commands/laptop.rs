//! A gateway for commands that answer on a laptop: policies from a directory, nodes and pods from a file.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use plimsoll_core::{Cluster, Gateway, NoObserver, Pod, SystemClock};
use plimsoll_directory::{Directory, DirectoryConfig};

use crate::{args::EngineArgs, demo::sample};

/// Nobody waits for an answer here.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A gateway with the policies of a directory.
///
/// # Errors
/// If a policy cannot be loaded, or the cluster cannot be read.
pub(super) fn gateway(
    policies: &Path,
    snapshot: Option<&Path>,
    kubeconfig: Option<&Path>,
    engine: &EngineArgs,
) -> Result<(Gateway, Arc<Cluster>)> {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), TIMEOUT);
    let cluster = cluster(snapshot, kubeconfig)?;
    gateway.set_cluster(Arc::clone(&cluster));
    let loader = Arc::new(super::loader(engine)?);
    let (_, update) = Directory::open(DirectoryConfig::new(policies.to_owned()), loader)?;
    if let Some(failure) = update.roster.failures().first() {
        bail!("policy {} cannot be loaded: {}", failure.name, failure.error);
    }
    gateway.set_roster(update.roster);
    Ok((gateway, cluster))
}

/// From the API server, from a file, or else the demo's.
fn cluster(snapshot: Option<&Path>, kubeconfig: Option<&Path>) -> Result<Arc<Cluster>> {
    if let Some(kubeconfig) = kubeconfig {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return Ok(runtime.block_on(plimsoll_cluster::list_once(kubeconfig, TIMEOUT))?);
    }
    Ok(Arc::new(snapshot.map_or_else(|| Ok(sample::cluster()), plimsoll_cluster::read_snapshot)?))
}

/// Reads a pod; `-` is standard input.
pub(super) fn read_pod(path: &Path) -> Result<Pod> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    Ok(plimsoll_cluster::read_pod(path)?)
}
