//! Connections to other replicas, plain or TLS.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tower::Service;

use crate::Tls;

/// How long a connection may take to come about, its handshake with it: replicas are near each other.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Connects to what a URL names.
#[derive(Clone)]
pub(super) struct Dial {
    tls: Option<Arc<Tls>>,
}

/// A connection.
pub(super) struct Link(TokioIo<Box<dyn Duplex>>);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

// === impl Dial ===

impl Dial {
    pub(super) fn new(tls: Option<Arc<Tls>>) -> Self {
        Self { tls }
    }

    async fn connect(self, uri: Uri) -> io::Result<Link> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{uri}: {text}"));
        let host = uri.host().ok_or_else(|| wrong("it has no host"))?.trim_matches(['[', ']']);
        let (tls, port) = match (uri.scheme_str(), &self.tls) {
            (Some("http"), _) => (None, 80),
            (Some("https"), Some(tls)) => (Some(tls), 443),
            (Some("https"), None) => return Err(wrong("this replica has no certificate for https")),
            _ => return Err(wrong("it is neither http nor https")),
        };
        let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(port))).await?;
        stream.set_nodelay(true)?;
        Ok(match tls {
            Some(tls) => Link::new(tls.connect(stream).await?),
            None => Link::new(stream),
        })
    }
}

impl Service<Uri> for Dial {
    type Response = Link;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Link>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.clone().connect(uri);
        Box::pin(async { timeout(CONNECT_TIMEOUT, connecting).await.map_err(io::Error::from)? })
    }
}

// === impl Link ===

impl Link {
    fn new(stream: impl Duplex + 'static) -> Self {
        Self(TokioIo::new(Box::new(stream)))
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Link {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for Link {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
