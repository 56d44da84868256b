//! Connections with a limit on the bytes that they read.
//!
//! The limit of a body does not count the framing around it: a chunk's size may have any number of leading zeros,
//! and a TLS record any padding.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Uri;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::Service;

/// Maximum bytes of an answer with headers, framing and TLS.
const MAX_WIRE: usize = 8 << 20;

/// A connector whose connections fail once the server has sent too much.
#[derive(Debug, Clone)]
pub(super) struct Capped<C>(pub(super) C);

/// A connection that reads at most this many bytes more.
#[derive(Debug)]
pub(super) struct CappedStream<S> {
    stream: S,
    left: usize,
}

impl<C> Service<Uri> for Capped<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
    C::Error: 'static,
{
    type Response = CappedStream<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { Ok(CappedStream { stream: connecting.await?, left: MAX_WIRE }) })
    }
}

impl<S: Connection> Connection for CappedStream<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl<S: Read + Unpin> Read for CappedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 8 << 10];
        let room = buffer.remaining().min(bytes.len());
        let mut read = ReadBuf::new(&mut bytes[..room]);
        ready!(Pin::new(&mut self.stream).poll_read(context, read.unfilled()))?;
        let read = read.filled();
        self.left = self.left.checked_sub(read.len()).ok_or_else(|| io::Error::other(too_much()))?;
        buffer.put_slice(read);
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for CappedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

fn too_much() -> String {
    format!("more than {} MiB with headers, framing and TLS: expected at most that much", MAX_WIRE >> 20)
}
