//! Connections: accepted within bounds, cut when they stall, drained at the end.

mod bounds;
mod connection;
mod in_flight;
mod read_meter;
mod registry;
mod request_body;
mod service;
mod state;
mod timeout_io;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    pin, select,
    task::JoinSet,
    time::{sleep, timeout},
};

pub(crate) use self::{bounds::ConnectionBounds, request_body::RequestBody, service::Service};
use self::{
    connection::ListenerContext,
    registry::{ConnectionPermit, Registry},
};
use crate::Tls;

/// The pause of the server when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown`, then finishes the requests in flight. With `tls`, plain HTTP is refused.
pub(crate) async fn serve(
    listener: TcpListener,
    service: impl Service,
    bounds: ConnectionBounds,
    tls: Option<Arc<Tls>>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    let registry = Arc::new(Registry::new(bounds.max_connections, bounds.max_requests));
    let drain = bounds.drain;
    let context = ListenerContext { service, bounds, tls, listener: address.ip() };
    let mut connections = JoinSet::new();
    pin!(shutdown);
    loop {
        select! {
            biased;
            () = &mut shutdown => break,
            (stream, peer, permit) = accept(&listener, &registry) => {
                connections.spawn(connection::run(stream, peer, permit, context.clone()));
            }
        }
        while let Some(ended) = connections.try_join_next() {
            note(ended);
        }
    }
    drop(listener);
    registry.close_all();
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            note(ended);
        }
    };
    if timeout(drain, all_ended).await.is_err() {
        tracing::warn!(%address, ?drain, "requests were cut off: they took longer than the drain time");
        connections.shutdown().await;
    }
    Ok(())
}

/// Waits for room, then for the next connection. It never fails: errors are ignored or retried.
async fn accept(listener: &TcpListener, registry: &Arc<Registry>) -> (TcpStream, SocketAddr, ConnectionPermit) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, registry.enter(peer.ip()).await),
            // The peer left before it was accepted.
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept a connection");
                registry.make_room();
                #[expect(clippy::disallowed_methods, reason = "nothing says when the system has a descriptor again")]
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn note(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection failed");
    }
}
