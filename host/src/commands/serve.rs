//! `plimsoll serve`: the gateway itself.

use std::process::ExitCode;

use anyhow::Result;
use plimsoll_http::WireConfig;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::{args::ServeArgs, logging, runtimes::Runtimes, server::Server};

pub(super) fn serve(args: ServeArgs) -> Result<ExitCode> {
    logging::start(args.log.log_format, &args.log.log)?;
    raise_descriptors();
    let runtimes = Runtimes::start(WireConfig::default().max_requests)?;
    let result = runtimes.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        // The start may wait for a slow volume.
        let mut server = tokio::select! {
            server = Server::start(args, runtimes.wire()) => server?,
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
