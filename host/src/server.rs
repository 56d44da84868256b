//! Joins the crates: directory and cluster publish to the gateway, the wire and the admin listener ask it.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use plimsoll_cluster::Leadership;
use plimsoll_core::{Gateway, SystemClock};
use plimsoll_directory::{Directory, DirectoryConfig, DirectoryWatch};
use plimsoll_http::{BindAccess, Peers, Tls, TlsFiles, WireConfig, serve_admin, serve_probes, serve_wire};
use plimsoll_wasm::WasmLoader;
use tokio::{net::TcpListener, runtime::Handle, sync::watch, task::JoinHandle};
use tracing::{info, warn};

use crate::{
    admin::AdminState,
    args::{DirectoryArgs, EngineArgs, ServeArgs},
    binding,
    cluster::{self, WatchGuard},
    engine,
    facts::FactsFileFollower,
    metrics::Metrics,
    places::PlaceKeeper,
    readiness::Readiness,
    reload::Reload,
    wake::Waker,
};

/// The interval at which the TLS files are read.
const TLS_INTERVAL: Duration = Duration::from_secs(1);

/// The end of the error about a port that is in use.
const OTHER_PORT: &str = "; port 0 picks a free port";

/// A running server; it stops on request, or when it is dropped.
pub(crate) struct Server {
    stop: watch::Sender<bool>,
    /// Probes and metrics are answered until requests and the Lease are dealt with.
    stop_admin: watch::Sender<bool>,
    wire: Listening,
    admin: Listening,
    /// Pending for ever if there is no probes listener.
    probes: Listening,
    state: Arc<AdminState>,
    // Dropping a watch ends and joins its thread.
    _watching: DirectoryWatch,
    _cluster: WatchGuard,
    leadership: Option<Arc<Leadership>>,
    places: Option<Arc<PlaceKeeper>>,
}

/// The task of a listener.
type Listening = JoinHandle<io::Result<()>>;

// === impl Server ===

impl Server {
    /// Listens; requests are answered on the runtime `on`. Policies are loaded meanwhile: until each is, its
    /// `onError` decides the effect on a request.
    ///
    /// # Errors
    /// If the directory or the cluster's source cannot be read, or an address cannot be bound.
    pub(crate) async fn start(args: ServeArgs, on: &Handle) -> Result<Self> {
        let ServeArgs { directory, view, listeners, binding, limits, engine, log: _ } = args;
        let (max_staleness, request_timeout) = (view.max_staleness, limits.request_timeout);
        let metrics = Arc::new(Metrics::new());
        // clap requires both or neither.
        let files = listeners.tls_cert.zip(listeners.tls_key);
        let files = files.map(|(cert, key)| TlsFiles { cert, key, client_ca: listeners.tls_client_ca });
        let tls = files.map(|files| Tls::load(files, metrics.tls.clone())).transpose()?.map(Arc::new);
        let gateway = Gateway::new(Arc::new(SystemClock), metrics.policies.clone(), request_timeout)
            .with_cache_limit(limits.decision_cache_size)
            .with_node_memory(limits.wire_memory / 2)
            .with_bind_call_wait(binding.bind_call_wait);
        let gateway = Arc::new(gateway);
        let wire_config = WireConfig {
            body_limit: limits.body_limit,
            memory: limits.wire_memory,
            max_nodes: limits.max_nodes,
            drain: limits.drain_timeout,
            tls: tls.clone(),
            bind: BindAccess {
                clients: binding.bind_clients.iter().filter(|name| !name.is_empty()).cloned().collect(),
                without_authentication: binding.bind_without_authentication,
            },
            ..WireConfig::default()
        };
        let wire = on.spawn(bind("--listen", listeners.listen)).await??;
        let admin = bind("--admin", listeners.admin).await?;
        let probes = match listeners.probes {
            Some(address) => Some(bind("--probes", address).await?),
            None => None,
        };
        let (address, admin_address) = (wire.local_addr()?, admin.local_addr()?);
        let probes_address = probes.as_ref().map(TcpListener::local_addr).transpose()?;
        if !admin_address.ip().to_canonical().is_loopback() {
            warn!(admin = %admin_address, "the admin listener is open to the network: whoever reaches it may ask policies, and sees labels and annotations that they read, and all facts; --probes is made for strangers");
        }
        let facts_file = view.facts.clone();
        let nominates = !view.no_nominate;
        let wake_object = (!view.no_wake).then(|| view.wake_object.clone());
        let cluster = cluster::follow(view, &gateway, &metrics)?;
        let loader = engine::loader(&engine)?;
        let readiness = Arc::new(Readiness::new(directory.allow_degraded));
        let facts = start_facts(facts_file, &cluster, &gateway)?;
        let sees_pods = !matches!(cluster, WatchGuard::Requests);
        let binds = !binding.no_bind && cluster.api().is_some();
        let reload = Reload::new(&gateway, &metrics, &readiness, facts.clone(), sees_pods, binds);
        let watching = watch_directory(directory, &engine, loader.clone(), reload).await?;

        if cluster.api().is_some() {
            gateway.answer_for_whole_cluster();
        }
        let waker = wake_object.zip(cluster.api()).map(|(object, (api, _))| {
            let namespace = binding.lease_namespace.clone().unwrap_or_else(|| api.namespace().to_owned());
            Waker::new(&gateway, api, namespace, object, metrics.wakes.clone(), metrics.wake_trouble.clone())
        });
        let places = cluster.api().map(|(api, watch)| {
            let (counts, trouble) = (metrics.nominations.clone(), metrics.nomination_trouble.clone());
            PlaceKeeper::new(&gateway, api, watch, nominates, counts, trouble)
        });
        // From here on nothing fails: a process that cannot start must not hold the Lease.
        let leadership = cluster.api().filter(|_| binds).map(|(api, watch)| {
            let lease = binding::lease_config(binding, api, address, tls.is_some());
            binding::start(&gateway, api, watch, lease, request_timeout)
        });
        let binds_for_nobody = leadership.is_some() && !binding::may_be_asked(address, &wire_config);
        let state = AdminState {
            gateway: gateway.clone(),
            metrics: metrics.clone(),
            loader,
            watch: cluster.api().map(|(_, watch)| Arc::clone(watch)),
            leadership: leadership.clone(),
            facts: facts.clone(),
            binds_for_nobody,
            wakes: waker.is_some(),
            max_staleness,
            sees_pods,
            readiness,
            draining: AtomicBool::new(false),
        };
        let state = Arc::new(state);
        let (stop, stop_admin) = (watch::Sender::new(false), watch::Sender::new(false));
        if let Some(tls) = &tls {
            tokio::spawn(until(stopped(&stop), tls.clone().follow(TLS_INTERVAL)));
        }
        if let Some(facts) = facts {
            tokio::spawn(until(stopped(&stop), facts.follow()));
        }
        if let Some(waker) = waker {
            tokio::spawn(until(stopped(&stop), waker.run()));
        }
        if let Some(places) = &places {
            tokio::spawn(until(stopped(&stop), Arc::clone(places).run()));
        }
        let (peers, observer) = (Arc::new(Peers::new(tls)), metrics.wire.clone());
        let wire = on.spawn(serve_wire(wire, gateway, observer, peers, wire_config, stopped(&stop)));
        let admin = tokio::spawn(serve_admin(admin, state.clone(), stopped(&stop_admin)));
        let (of_probes, probes_stopped) = (state.clone(), stopped(&stop_admin));
        let probes = tokio::spawn(async move {
            if let Some(probes) = probes {
                return serve_probes(probes, of_probes, probes_stopped).await;
            }
            probes_stopped.await;
            Ok(())
        });
        let probes_address = probes_address.map(tracing::field::display);
        info!(listen = %address, admin = %admin_address, probes = probes_address, "plimsoll answers");
        Ok(Self {
            stop,
            stop_admin,
            wire,
            admin,
            probes,
            state,
            _watching: watching,
            _cluster: cluster,
            leadership,
            places,
        })
    }

    /// Finishes requests in flight within the drain time, and stops.
    ///
    /// # Errors
    /// If a listener had failed before.
    pub(crate) async fn stop(self) -> Result<()> {
        self.state.drain();
        self.stop.send_replace(true);
        let served = self.wire.await;
        if let Some(places) = &self.places {
            places.take_back().await;
        }
        // No bind begins any more, however that ended: another replica may bind.
        if let Some(leadership) = &self.leadership {
            leadership.stop().await;
        }
        self.stop_admin.send_replace(true);
        served?.context("the extender listener failed")?;
        self.admin.await?.context("the admin listener failed")?;
        self.probes.await?.context("the probes listener failed")
    }

    /// Releases the Lease after a listener has failed, so that another replica binds at once. Requests in flight are
    /// lost; a bind that is being written is waited for.
    pub(crate) async fn give_up(&self) {
        self.state.drain();
        self.stop.send_replace(true);
        if let Some(leadership) = &self.leadership {
            leadership.stop().await;
        }
    }

    /// Waits until a listener ends by itself, which it does only by failing.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        let (which, result) = tokio::select! {
            result = &mut self.wire => ("extender", result),
            result = &mut self.admin => ("admin", result),
            result = &mut self.probes => ("probes", result),
        };
        match result {
            Ok(Ok(())) => anyhow::anyhow!("the {which} listener stopped"),
            Ok(Err(error)) => anyhow::Error::new(error).context(format!("the {which} listener failed")),
            Err(error) => anyhow::Error::new(error).context(format!("the {which} listener crashed")),
        }
    }
}

async fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener> {
    let other_port = |error: &io::Error| if error.kind() == ErrorKind::AddrInUse { OTHER_PORT } else { "" };
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| anyhow!("cannot listen on {address} ({flag}): {error}{}", other_port(&error)))
}

fn stopped(stop: &watch::Sender<bool>) -> impl Future<Output = ()> + Send + 'static {
    let mut stop = stop.subscribe();
    async move {
        // An error means that the server was dropped, which is a stop too.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// Runs a task until the server stops.
async fn until(stopped: impl Future<Output = ()>, following: impl Future<Output = ()>) {
    tokio::select! {
        () = following => {}
        () = stopped => {}
    }
}

/// Lists the directory, brings its policies into force, and follows its changes.
async fn watch_directory(
    args: DirectoryArgs,
    engine: &EngineArgs,
    loader: WasmLoader,
    reload: Reload,
) -> Result<DirectoryWatch> {
    let config = DirectoryConfig {
        poll: args.poll,
        settle: args.settle,
        max_memory: engine.max_policy_memory,
        require_sidecars: args.require_sidecars,
        allow_empty: args.allow_empty,
        allow_degraded: args.allow_degraded,
        last_good: engine::cache_directory(engine).map(|cache| cache.join("last-good")),
        ..DirectoryConfig::new(args.policies)
    };
    // It lists a directory and reads sidecars, which may take long on a slow file system.
    let start = move || Directory::start(config, Arc::new(loader));
    let (directory, update) = tokio::task::spawn_blocking(start).await??;
    reload.apply(&update);
    Ok(directory.watch(move |update| reload.apply(&update))?)
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
