//! The tasks of a server: its listeners, and the files that it follows.

use std::{io, sync::Arc, time::Duration};

use plimsoll_core::Gateway;
use plimsoll_http::{Peers, Tls, WireConfig, WireObserver, serve_admin, serve_probes, serve_wire};
use tokio::{net::TcpListener, runtime::Handle, sync::watch, task::JoinHandle};
use tracing::info;

use super::listeners::Listeners;
use crate::{admin::AdminState, facts::FactsFileFollower};

/// The interval at which the TLS files are read.
const TLS_INTERVAL: Duration = Duration::from_secs(1);

/// The tasks; those that follow files end with the server.
pub(super) struct Tasks {
    pub(super) stop: watch::Sender<bool>,
    /// Probes and metrics are answered until requests and the Lease are dealt with.
    pub(super) stop_admin: watch::Sender<bool>,
    pub(super) wire: JoinHandle<io::Result<()>>,
    pub(super) admin: JoinHandle<io::Result<()>>,
    /// It never ends without such a listener.
    pub(super) probes: JoinHandle<io::Result<()>>,
}

/// The wire before its task is started.
pub(super) struct Wire {
    pub(super) gateway: Arc<Gateway>,
    pub(super) observer: Arc<dyn WireObserver>,
    pub(super) tls: Option<Arc<Tls>>,
    pub(super) config: WireConfig,
}

// === impl Tasks ===

impl Tasks {
    /// Starts the tasks: that of the wire on the runtime `on`.
    pub(super) fn start(
        listeners: Listeners,
        wire: Wire,
        state: &Arc<AdminState>,
        facts: Option<Arc<FactsFileFollower>>,
        on: &Handle,
    ) -> Self {
        let (stop, stop_admin) = (watch::Sender::new(false), watch::Sender::new(false));
        let Wire { gateway, observer, tls, config } = wire;
        if let Some(tls) = &tls {
            tokio::spawn(until(stopped(&stop), tls.clone().follow(TLS_INTERVAL)));
        }
        if let Some(facts) = facts {
            tokio::spawn(until(stopped(&stop), facts.follow()));
        }
        let peers = Arc::new(Peers::new(tls));
        let Listeners { wire, wire_address, admin, admin_address, probes, probes_address } = listeners;
        let wire = on.spawn(serve_wire(wire, gateway, observer, peers, config, stopped(&stop)));
        let admin = tokio::spawn(serve_admin(admin, state.clone(), stopped(&stop_admin)));
        let probes = tokio::spawn(follow_probes(probes, state.clone(), stopped(&stop_admin)));
        let probes_address = probes_address.map(tracing::field::display);
        info!(listen = %wire_address, admin = %admin_address, probes = probes_address, "plimsoll answers");
        Self { stop, stop_admin, wire, admin, probes }
    }
}

fn stopped(stop: &watch::Sender<bool>) -> impl Future<Output = ()> + Send + 'static {
    let mut stop = stop.subscribe();
    async move {
        // An error means that the server was dropped, which is a stop too.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// Serves the probes, if there is a listener for them, until the server stops.
async fn follow_probes(
    listener: Option<TcpListener>,
    state: Arc<AdminState>,
    stopped: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let Some(listener) = listener else {
        stopped.await;
        return Ok(());
    };
    serve_probes(listener, state, stopped).await
}

/// Follows files until the server stops.
async fn until(stopped: impl Future<Output = ()>, following: impl Future<Output = ()>) {
    tokio::select! {
        () = following => {}
        () = stopped => {}
    }
}
