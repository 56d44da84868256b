//! Serves a router on a listener: accepts up to a number of connections, with or without TLS, and drains them at the end.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, Version, header::CONNECTION},
};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    pin, select,
    sync::{Semaphore, watch},
    task::{JoinError, JoinSet},
    time::{sleep, timeout},
};
use tower::{ServiceExt, service_fn};

use crate::{
    access::{Client, ClientIdentity},
    tls::{Duplex, Tls},
};

/// The time in which a new connection must send its first byte and complete its TLS handshake.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for the head of a request, which hyper begins to count when the connection becomes idle. kube-scheduler
/// keeps an idle connection for 90 s.
const IDLE_TIMEOUT: Duration = Duration::from_mins(2);

/// An HTTP/2 peer that does not answer a ping is gone.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Maximum bytes of a head, and of one read of a body. Most requests by name fit into one read.
const READ_BUFFER: usize = 256 << 10;

/// Bytes that an HTTP/2 sender may send ahead of us on one stream; whole nodes are large.
const STREAM_WINDOW: u32 = 1 << 20;

/// The time that an HTTP/1.1 connection has for one more request after the server was told to stop: a request that is
/// on its way then would be lost if the connection were closed at once.
const LINGER: Duration = Duration::from_millis(250);

/// The pause of a listener when the system has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The bounds of a listener.
pub(crate) struct Limits {
    /// Maximum open connections; further ones wait in the system's queue.
    pub(crate) connections: usize,
    /// The time that requests in flight may take after the server was told to stop.
    pub(crate) drain: Duration,
}

/// Serves until `shutdown`, then finishes the requests in flight. With `tls`, plain HTTP is refused.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    let permits = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let (stop, stopping) = watch::channel(());
    let mut connections = JoinSet::new();
    pin!(shutdown);
    loop {
        let accept = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => note(ended),
            (permit, accepted) = accept => match accepted {
                Ok((stream, peer)) => {
                    let connection = connect(stream, peer, address, router.clone(), tls.clone(), stopping.clone());
                    connections.spawn(async { (connection.await, drop(permit)).0 });
                }
                // The peer left before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept a connection");
                    #[expect(clippy::disallowed_methods, reason = "nothing says when the system has a descriptor again")]
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
    // In this order: who sees that nobody listens any more is told that its connection ends.
    drop(stop);
    drop(listener);
    let all_ended = async { while connections.join_next().await.map(note).is_some() {} };
    let drain = limits.drain;
    if timeout(drain, all_ended).await.is_err() {
        tracing::warn!(%address, ?drain, "requests were cut off: they took longer than the drain time");
        connections.shutdown().await;
    }
    Ok(())
}

fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection failed");
    }
}

/// Serves a connection to its end. If the client leaves, the futures of its requests are dropped.
async fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    listener: SocketAddr,
    router: Router,
    tls: Option<Arc<Tls>>,
    mut stopping: watch::Receiver<()>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let starting = async {
        // Many probes connect and leave without a byte.
        let has_sent = stream.peek(&mut [0]).await.is_ok_and(|bytes| bytes > 0);
        match &tls {
            _ if !has_sent => None,
            Some(tls) => tls.accept(stream, peer).await,
            None => Some((Box::new(stream) as Box<dyn Duplex>, ClientIdentity::Anonymous)),
        }
    };
    let started = select! {
        started = timeout(BEGIN_TIMEOUT, starting) => started,
        _ = stopping.changed() => return,
    };
    let (stream, identity) = match started {
        Ok(Some(connected)) => connected,
        Ok(None) => return,
        Err(_) => return tracing::debug!(%peer, "a connection was closed: it did not begin in time"),
    };
    let client = Arc::new(Client::new(peer, identity, listener.ip()));
    let is_stopping = stopping.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&client));
        let (router, is_stopping, version) = (router.clone(), is_stopping.clone(), request.version());
        async move {
            let mut reply = router.oneshot(request).await?;
            // HTTP/2 has GOAWAY.
            if version <= Version::HTTP_11 && is_stopping.has_changed().is_err() {
                reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(reply)
        }
    });
    let builder = builder();
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    pin!(connection);
    let ended = select! {
        ended = connection.as_mut() => ended,
        _ = stopping.changed() => {
            if let Ok(ended) = timeout(LINGER, connection.as_mut()).await {
                ended
            } else {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error, "a connection ended early");
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_TIMEOUT).max_buf_size(READ_BUFFER);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(PING_INTERVAL).initial_stream_window_size(STREAM_WINDOW);
    builder
}
