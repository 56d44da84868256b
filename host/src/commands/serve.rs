//! `plimsoll serve`: the gateway itself.

use std::process::ExitCode;

use anyhow::Result;
use plimsoll_cluster::ApiServer;
use plimsoll_directory::DirectoryConfig;
use plimsoll_http::{BindAccess, TlsFiles, WireConfig};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::{
    args::{BindClientArgs, LimitArgs, ServeArgs},
    cluster::ClusterSource,
    engine, logging,
    runtimes::Runtimes,
    server::{Server, ServerConfig},
};

pub(super) fn serve(args: ServeArgs) -> Result<ExitCode> {
    logging::start(args.log.log_format, &args.log.log)?;
    raise_descriptors();
    let config = config(args)?;
    let runtimes = Runtimes::start(config.wire.max_requests)?;
    let result = runtimes.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // The start may wait for a slow volume.
        let mut server = tokio::select! {
            server = Server::start(config, runtimes.wire()) => server?,
            _ = terminate.recv() => return Ok(stopped_early("SIGTERM")),
            _ = interrupt.recv() => return Ok(stopped_early("SIGINT")),
        };
        tokio::select! {
            _ = terminate.recv() => info!("SIGTERM: finishing requests in flight"),
            _ = interrupt.recv() => info!("SIGINT: finishing requests in flight; once more to stop at once"),
            error = server.failed() => {
                tokio::select! {
                    () = server.give_up() => {}
                    _ = interrupt.recv() => {}
                }
                return Err(error);
            }
        }
        tokio::select! {
            result = server.stop() => result?,
            _ = interrupt.recv() => info!("stopped at once"),
        }
        Ok(ExitCode::SUCCESS)
    });
    runtimes.shut_down();
    result
}

/// Raises the soft limit of file descriptors to the hard one: 1,024 is common, made for programs that call `select`.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        warn!(%error, "the limit of file descriptors cannot be raised");
    }
}

/// Nothing was answered yet.
fn stopped_early(signal: &str) -> ExitCode {
    info!("{signal}: stopped before the start was complete");
    ExitCode::SUCCESS
}

pub(crate) fn config(args: ServeArgs) -> Result<ServerConfig> {
    let ServeArgs { directory, view, facts, listeners, tls, clients, lease, limits, decision_cache, engine, log: _ } =
        args;
    // clap requires both or neither.
    let pair = tls.tls_cert.zip(tls.tls_key);
    Ok(ServerConfig {
        directory: DirectoryConfig {
            poll: directory.poll,
            settle: directory.settle,
            max_memory: engine.max_policy_memory,
            allow_empty: directory.allow_empty,
            allow_degraded: directory.allow_degraded,
            last_good: engine::cache_directory(&engine).map(|cache| cache.join("last-good")),
            ..DirectoryConfig::new(directory.policies)
        },
        loader: engine::loader(&engine)?,
        cluster: ClusterSource::resolve(view.snapshot, view.kubeconfig, view.context, ApiServer::is_in_cluster()),
        max_staleness: view.max_staleness,
        facts: facts.facts,
        listen: listeners.listen,
        admin: listeners.admin,
        probes: listeners.probes,
        tls: pair.map(|(cert, key)| TlsFiles { cert, key, client_ca: tls.tls_client_ca }),
        bind_call_wait: lease.bind_call_wait,
        lease: (!lease.no_bind).then_some(lease),
        request_timeout: limits.request_timeout,
        decision_cache: decision_cache.decision_cache_size,
        wire: wire_config(&limits, clients),
    })
}

fn wire_config(limits: &LimitArgs, clients: BindClientArgs) -> WireConfig {
    WireConfig {
        body_limit: limits.body_limit,
        memory: limits.wire_memory,
        drain: limits.drain_timeout,
        bind: BindAccess {
            clients: clients.bind_clients.into_iter().filter(|name| !name.is_empty()).collect(),
            without_authentication: clients.bind_without_authentication,
        },
        ..WireConfig::default()
    }
}
