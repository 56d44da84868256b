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

/// Timeout of connect and TLS handshake; replicas are in one cluster.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Connects to the host of a URL.
#[derive(Clone)]
pub(super) struct Connector {
    tls: Option<Arc<Tls>>,
}

/// A connection.
pub(super) struct PeerStream(TokioIo<Box<dyn Duplex>>);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

// === impl Connector ===

impl Connector {
    pub(super) fn new(tls: Option<Arc<Tls>>) -> Self {
        Self { tls }
    }

    async fn connect(self, uri: Uri) -> io::Result<PeerStream> {
        let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{uri}: {text}"));
        let host = uri.host().ok_or_else(|| wrong("it has no host"))?.trim_matches(['[', ']']);
        let port = default_port(uri.scheme_str(), self.tls.is_some()).map_err(wrong)?;
        let stream = TcpStream::connect((host, uri.port_u16().unwrap_or(port))).await?;
        stream.set_nodelay(true)?;
        Ok(match &self.tls {
            Some(tls) => PeerStream::new(tls.connect(stream).await?),
            None => PeerStream::new(stream),
        })
    }
}

impl Service<Uri> for Connector {
    type Response = PeerStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PeerStream>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.clone().connect(uri);
        Box::pin(async { timeout(CONNECT_TIMEOUT, connecting).await.map_err(io::Error::from)? })
    }
}

/// The default port of a URL's scheme. A replica with a certificate never speaks plain HTTP, whatever the Lease says:
/// the bind could reach an impostor.
fn default_port(scheme: Option<&str>, has_tls: bool) -> Result<u16, &'static str> {
    match (scheme, has_tls) {
        (Some("http"), false) => Ok(80),
        (Some("https"), true) => Ok(443),
        (Some("http"), true) => Err("this replica has TLS and sends no bind in the clear"),
        (Some("https"), false) => Err("this replica has no certificate for https"),
        _ => Err("it is neither http nor https"),
    }
}

// === impl PeerStream ===

impl PeerStream {
    fn new(stream: impl Duplex + 'static) -> Self {
        Self(TokioIo::new(Box::new(stream)))
    }
}

impl Connection for PeerStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for PeerStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for PeerStream {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_with_tls_dials_nothing_in_the_clear() {
        assert_eq!(default_port(Some("http"), false), Ok(80));
        assert_eq!(default_port(Some("https"), true), Ok(443));
        for (scheme, has_tls, why) in [
            (Some("http"), true, "sends no bind in the clear"),
            (Some("https"), false, "no certificate"),
            (Some("ftp"), true, "neither http nor https"),
            (None, true, "neither http nor https"),
        ] {
            let refused = default_port(scheme, has_tls).unwrap_err();
            assert!(refused.contains(why), "{scheme:?} {has_tls}: {refused}");
        }
    }
}
