//! `plimsoll serve`: the gateway itself.

use std::process::ExitCode;

use anyhow::Result;
use plimsoll_cluster::ApiServer;
use plimsoll_core::CacheLimit;
use plimsoll_directory::DirectoryConfig;
use plimsoll_http::{AllowedHosts, BindAccess, TlsFiles, WireConfig};
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::{
    args::ServeArgs,
    cluster::ClusterSource,
    descriptors, logging,
    runtimes::Runtimes,
    server::{Server, ServerConfig},
};

pub(super) fn serve(args: ServeArgs) -> Result<ExitCode> {
    logging::start(args.log_format, &args.log)?;
    descriptors::raise(args.max_connections);
    let config = config(args)?;
    let runtimes = Runtimes::start(config.wire.max_decisions)?;
    let result = runtimes.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut server = Server::start(config, runtimes.wire()).await?;
        tokio::select! {
            _ = terminate.recv() => info!("SIGTERM: finishing what is in flight"),
            _ = interrupt.recv() => info!("SIGINT: finishing what is in flight; once more to stop at once"),
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

pub(crate) fn config(args: ServeArgs) -> Result<ServerConfig> {
    // clap lets neither come without the other.
    let pair = args.tls_cert.zip(args.tls_key);
    let tls = pair.map(|(cert, key)| TlsFiles { cert, key, client_ca: args.tls_client_ca });
    Ok(ServerConfig {
        directory: DirectoryConfig {
            poll: args.poll,
            settle: args.settle,
            max_memory: args.engine.max_policy_memory,
            allow_empty: args.allow_empty,
            allow_degraded: args.allow_degraded,
            last_good: super::cache_directory(&args.engine).map(|cache| cache.join("last-good")),
            ..DirectoryConfig::new(args.policies)
        },
        loader: super::loader(&args.engine)?,
        cluster: ClusterSource::resolve(args.snapshot, args.kubeconfig, args.context, ApiServer::is_in_cluster()),
        max_staleness: args.max_staleness,
        listen: args.listen,
        admin: args.admin,
        probes: args.probes,
        tls,
        lease: (!args.lease.no_bind).then_some(args.lease),
        request_timeout: args.request_timeout,
        traces: CacheLimit { bytes: args.decision_cache_size, recheck_every: args.recheck_every },
        wire: WireConfig {
            body_limit: args.body_limit,
            memory: args.wire_memory,
            max_connections: args.max_connections,
            max_requests: args.max_requests,
            drain: args.drain_timeout,
            hosts: AllowedHosts::new(args.allowed_hosts),
            bind: BindAccess {
                clients: args.bind_clients.into_iter().filter(|name| !name.is_empty()).collect(),
                without_authentication: args.bind_without_authentication,
            },
            ..WireConfig::default()
        },
    })
}
