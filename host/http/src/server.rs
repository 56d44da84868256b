//! Connections: accepted within bounds, cut when they stall, drained at the end.

mod connection;
mod read_meter;
mod registry;
mod request_body;
mod state;
mod timeout_io;

use std::{error::Error, future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use hyper::{
    Request, Response,
    body::{Body, Incoming},
};
use tokio::{
    net::{TcpListener, TcpStream},
    pin, select,
    task::JoinSet,
    time::{sleep, timeout},
};

use self::{
    connection::ListenerContext,
    registry::{ConnectionPermit, Registry},
};
use crate::{Tls, WireConfig, access::Client};

pub(crate) use self::request_body::RequestBody;

/// The pause of the server when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limits for the connections of one listener.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionBounds {
    pub(crate) keep_alive: Duration,
    pub(crate) header_timeout: Duration,
    /// The time that a reader may leave a reply unread.
    pub(crate) write_timeout: Duration,
    /// The time that a reader may take for a whole reply.
    pub(crate) reply_timeout: Duration,
    /// The time that an h2 stream may take, from its head to the last of its reply.
    pub(crate) stream_timeout: Duration,
    pub(crate) drain: Duration,
    pub(crate) max_connections: usize,
    /// Whether h2 is spoken too, with several requests at once on one connection.
    pub(crate) http2: bool,
    pub(crate) max_requests: usize,
}

/// Answers the requests of a listener; each connection has a clone.
pub(crate) trait Service: Clone + Send + Sync + 'static {
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static;

    /// Answers a request. Its body counts as awaited until it is dropped.
    fn answer(
        self,
        request: Request<RequestBody>,
        client: Arc<Client>,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// The reply if too many requests are in flight; the body is not read.
    fn refuse(self, request: Request<Incoming>) -> Response<Self::Body>;
}

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
                registry.make_room(true);
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

// === impl ConnectionBounds ===

impl ConnectionBounds {
    /// With `request_timeout`, the longest that a decision takes.
    pub(crate) fn of_wire(config: &WireConfig, request_timeout: Duration) -> Self {
        Self {
            keep_alive: config.keep_alive,
            header_timeout: config.header_timeout,
            write_timeout: config.body_timeout,
            reply_timeout: config.reply_timeout,
            stream_timeout: config.body_timeout + request_timeout + config.reply_timeout,
            drain: config.drain,
            max_connections: config.max_connections,
            http2: true,
            max_requests: config.max_requests,
        }
    }

    /// Operators and scrapers are few and quick.
    pub(crate) const fn of_admin() -> Self {
        Self {
            keep_alive: Duration::from_mins(1),
            header_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(10),
            reply_timeout: Duration::from_mins(1),
            stream_timeout: Duration::from_mins(2),
            drain: Duration::from_secs(2),
            max_connections: 256,
            max_requests: 256,
            http2: false,
        }
    }

    /// Clients of the probes listener are not trusted.
    pub(crate) const fn of_probes() -> Self {
        Self {
            keep_alive: Duration::from_mins(1),
            header_timeout: Duration::from_secs(5),
            write_timeout: Duration::from_secs(5),
            reply_timeout: Duration::from_secs(20),
            stream_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(2),
            max_connections: 64,
            max_requests: 64,
            http2: false,
        }
    }
}
