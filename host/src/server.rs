//! Joins the crates: directory and cluster publish to the gateway, the wire and the admin listener ask it.

mod listeners;
mod tasks;

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result};
use plimsoll_cluster::Leadership;
use plimsoll_core::{CacheLimit, Gateway, SystemClock};
use plimsoll_directory::{Directory, DirectoryConfig, DirectoryWatch};
use plimsoll_http::{Tls, TlsFiles, WireConfig};
use plimsoll_wasm::WasmLoader;
use tokio::runtime::Handle;

use self::{
    listeners::Listeners,
    tasks::{Tasks, Wire},
};
use crate::{
    admin::AdminState,
    args::LeaseArgs,
    binding,
    cluster::{ClusterSource, WatchGuard},
    facts::FactsFileFollower,
    metrics::Metrics,
    readiness::Readiness,
    reload::Reload,
};

/// The configuration of a server.
pub(crate) struct ServerConfig {
    pub(crate) directory: DirectoryConfig,
    pub(crate) loader: WasmLoader,
    pub(crate) cluster: ClusterSource,
    /// The greatest age of the watch's last sign of life.
    pub(crate) max_staleness: Duration,
    /// The file of `--facts`.
    pub(crate) facts: Option<PathBuf>,
    pub(crate) listen: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) probes: Option<SocketAddr>,
    pub(crate) tls: Option<TlsFiles>,
    /// `None`: it never binds.
    pub(crate) lease: Option<LeaseArgs>,
    /// The time that a filter waits for bind calls.
    pub(crate) bind_call_wait: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) decision_cache: CacheLimit,
    pub(crate) wire: WireConfig,
}

/// A running server; it stops on request, or when it is dropped.
pub(crate) struct Server {
    tasks: Tasks,
    state: Arc<AdminState>,
    // Dropping a watch ends and joins its thread.
    _watching: DirectoryWatch,
    _cluster: WatchGuard,
    leadership: Option<Arc<Leadership>>,
}

// === impl Server ===

impl Server {
    /// Listens; requests are answered on the runtime `on`. Policies are loaded meanwhile: until each is, its
    /// `onError` decides the effect on a request.
    ///
    /// # Errors
    /// If the directory or the cluster's source cannot be read, or an address cannot be bound.
    pub(crate) async fn start(config: ServerConfig, on: &Handle) -> Result<Self> {
        let metrics = Arc::new(Metrics::new());
        let tls = config.tls.map(|files| Tls::load(files, metrics.tls.clone())).transpose()?.map(Arc::new);
        let gateway = Gateway::new(Arc::new(SystemClock), metrics.policies.clone(), config.request_timeout)
            .with_cache_limit(config.decision_cache)
            .with_node_memory(config.wire.memory / 2)
            .with_bind_call_wait(config.bind_call_wait);
        let gateway = Arc::new(gateway);
        let listeners = Listeners::open(config.listen, config.admin, config.probes, on).await?;
        let cluster = config.cluster.follow(&gateway, &metrics, config.max_staleness)?;
        let loader = config.loader.clone();
        let readiness = Arc::new(Readiness::new(config.directory.allow_degraded));
        let facts = start_facts(config.facts, &cluster, &gateway)?;
        let sees_pods = !matches!(cluster, WatchGuard::Requests);
        let binds = config.lease.is_some() && cluster.api().is_some();
        let reload = Reload::new(&gateway, &metrics, &readiness, sees_pods, binds).with_facts(facts.clone());
        let watching = watch_directory(config.directory, config.loader, reload).await?;

        // From here on nothing fails: a process that cannot start must not hold the Lease.
        let leadership = config.lease.zip(cluster.api()).map(|(lease, (api, watch))| {
            let lease = binding::lease_config(lease, api, listeners.wire_address, tls.is_some());
            binding::start(&gateway, api, watch, lease, config.request_timeout)
        });
        let wire_config = WireConfig { tls: tls.clone(), ..config.wire };
        let binds_for_nobody = leadership.is_some() && !binding::may_be_asked(listeners.wire_address, &wire_config);
        let state = AdminState {
            gateway: gateway.clone(),
            metrics: metrics.clone(),
            loader,
            watch: cluster.watch().cloned(),
            leadership: leadership.clone(),
            facts: facts.clone(),
            binds_for_nobody,
            max_staleness: config.max_staleness,
            sees_pods,
            readiness,
            draining: AtomicBool::new(false),
        };
        let state = Arc::new(state);
        let wire = Wire { gateway, observer: metrics.wire.clone(), tls, config: wire_config };
        let tasks = Tasks::start(listeners, wire, &state, facts, on);
        Ok(Self { tasks, state, _watching: watching, _cluster: cluster, leadership })
    }

    /// Finishes requests in flight within the drain time, and stops.
    ///
    /// # Errors
    /// If a listener had failed before.
    pub(crate) async fn stop(self) -> Result<()> {
        self.state.drain();
        self.tasks.stop.send_replace(true);
        let served = self.tasks.wire.await;
        // No bind begins any more, however that ended: another replica may bind.
        if let Some(leadership) = &self.leadership {
            leadership.stop().await;
        }
        self.tasks.stop_admin.send_replace(true);
        served?.context("the extender listener failed")?;
        self.tasks.admin.await?.context("the admin listener failed")?;
        self.tasks.probes.await?.context("the probes listener failed")
    }

    /// Releases the Lease after a listener has failed, so that another replica binds at once. Requests in flight are
    /// lost; a bind that is being written is waited for.
    pub(crate) async fn give_up(&self) {
        self.state.drain();
        self.tasks.stop.send_replace(true);
        if let Some(leadership) = &self.leadership {
            leadership.stop().await;
        }
    }

    /// Waits until a listener ends by itself, which it does only by failing.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        let (which, result) = tokio::select! {
            result = &mut self.tasks.wire => ("extender", result),
            result = &mut self.tasks.admin => ("admin", result),
            result = &mut self.tasks.probes => ("probes", result),
        };
        match result {
            Ok(Ok(())) => anyhow::anyhow!("the {which} listener stopped"),
            Ok(Err(error)) => anyhow::Error::new(error).context(format!("the {which} listener failed")),
            Err(error) => anyhow::Error::new(error).context(format!("the {which} listener crashed")),
        }
    }
}

/// Lists the directory, brings its policies into force, and follows its changes.
async fn watch_directory(config: DirectoryConfig, loader: WasmLoader, reload: Reload) -> Result<DirectoryWatch> {
    // It lists a directory and reads sidecars, which may take long on a slow file system.
    let start = move || Directory::start(config, Arc::new(loader));
    let (directory, update) = tokio::task::spawn_blocking(start).await??;
    reload.apply(update);
    Ok(directory.watch(move |update| reload.apply(update))?)
}

/// Fetches the sources of `--facts`, if there are any.
fn start_facts(
    file: Option<PathBuf>,
    cluster: &WatchGuard,
    gateway: &Arc<Gateway>,
) -> Result<Option<Arc<FactsFileFollower>>> {
    let Some(file) = file else { return Ok(None) };
    let facts = FactsFileFollower::start(file, cluster.api().map(|(api, _)| api), gateway)?;
    Ok(Some(Arc::new(facts)))
}

#[cfg(test)]
mod tests;
