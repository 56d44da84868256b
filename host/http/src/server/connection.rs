//! One connection: HTTP/1.1 or h2, detected from the first bytes, with or without TLS.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Request, Response,
    body::{Body, Frame, Incoming, SizeHint},
    rt::Executor,
    service::service_fn,
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    pin, select,
    time::timeout,
};

use super::{
    bounds::{CONNECTION_WINDOW, ConnectionBounds, MAX_STREAMS, READ_BUFFER, STREAM_WINDOW},
    in_flight::InFlight,
    registry::ConnectionPermit,
    request_body::RequestBody,
    service::Service,
    state::ReplyGuard,
    timeout_io::TimeoutIo,
};
use crate::{Tls, access::Client, tls::ClientIdentity};

/// The state that all connections of a listener share.
#[derive(Clone)]
pub(super) struct ListenerContext<S> {
    pub(super) service: S,
    pub(super) bounds: ConnectionBounds,
    pub(super) tls: Option<Arc<Tls>>,
    /// The address that the listener was bound to.
    pub(super) listener: IpAddr,
}

/// The executor for the streams of an h2 connection. Each has a timeout: a reader that takes no data holds its reply in
/// memory, and its request counts as in flight.
#[derive(Clone)]
struct Streams {
    longest: Duration,
}

/// A body that keeps its request in flight until the server has taken the last frame.
struct Tracked<B> {
    body: B,
    _reader: ReplyGuard,
    _in_flight: InFlight,
}

/// Serves a connection to its end. If the client leaves, the futures of its requests are dropped.
pub(super) async fn run<S: Service>(
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit,
    context: ListenerContext<S>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let client = |identity| Arc::new(Client::new(peer, identity, context.listener));
    let Some(tls) = &context.tls else {
        return speak(stream, client(ClientIdentity::Anonymous), &permit, &context).await;
    };
    // Until the handshake is complete, the connection counts as idle and is evicted first.
    let accepted = select! {
        accepted = tls.accept(stream, peer, context.bounds.header_timeout) => accepted,
        () = permit.connection().until_closing() => None,
    };
    if let Some((stream, identity)) = accepted {
        speak(stream, client(identity), &permit, &context).await;
    }
}

/// Speaks HTTP to the end of a stream.
async fn speak<S: Service>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    client: Arc<Client>,
    permit: &ConnectionPermit,
    context: &ListenerContext<S>,
) {
    let state = Arc::clone(permit.connection());
    let io = TokioIo::new(TimeoutIo::new(stream, Arc::clone(&state), context.bounds.clone()));
    let builder = builder(&context.bounds);
    let service =
        service_fn(|request| serve(context.service.clone(), InFlight::begin(permit), request, Arc::clone(&client)));
    let connection = builder.serve_connection(io, service);
    pin!(connection);
    let ended = select! {
        ended = connection.as_mut() => ended,
        () = state.until_cut() => return,
        () = state.until_closing() => {
            // Without a whole head there is no request to finish; hyper would wait for the rest of the head.
            if state.unused_for().is_some() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            select! {
                ended = connection => ended,
                () = state.until_cut() => return,
                // A graceful h2 shutdown sends a PING, which the peer may never answer.
                () = state.until_parted() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

fn builder(bounds: &ConnectionBounds) -> auto::Builder<Streams> {
    let mut builder = auto::Builder::new(Streams { longest: bounds.stream_timeout });
    // `TimeoutIo` bounds the headers: hyper's timer would also cut idle connections.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(READ_BUFFER);
    if !bounds.http2 {
        return builder.http1_only();
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    builder
}

async fn serve<S: Service>(
    service: S,
    mut in_flight: InFlight,
    request: Request<Incoming>,
    client: Arc<Client>,
) -> Result<Response<Tracked<S::Body>>, Infallible> {
    let response = if in_flight.admit().await {
        let awaited = in_flight.body_guard(request.body().is_end_stream());
        service.answer(request.map(|body| RequestBody::new(body, awaited)), client).await
    } else {
        service.refuse(request)
    };
    Ok(response.map(|body| Tracked { body, _reader: in_flight.reply_guard(), _in_flight: in_flight }))
}

// === impl Streams ===

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        tokio::spawn(timeout(self.longest, stream));
    }
}

// === impl Tracked ===

impl<B: Body + Unpin> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
