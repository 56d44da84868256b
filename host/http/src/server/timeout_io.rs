//! A stream with a timeout for everything that its peer owes, and bounds for the bytes that it sends.
//!
//! There are timeouts for the first byte, for the rest of a request's head, for the next request, and for reading the
//! reply. The body reader has its timeout.
//!
//! While a request is in flight, or its reply is not completely written, the peer owes nothing: bytes that arrive then
//! do not start a head, and no head deadline applies.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::{
    bounds::{ConnectionBounds, MAX_STREAMS, READ_BUFFER, STREAM_WINDOW},
    read_meter::ReadMeter,
    state::{ConnectionState, ReplyGuard},
};

/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// Minimum interval between two checks of a request in flight.
const MIN_WAIT: Duration = Duration::from_millis(10);

/// Bytes of bodies that may have been read and not delivered yet: one read in hyper's buffer and one on its way to the
/// service, or the windows of all h2 streams.
const HTTP1_AHEAD: u64 = 2 * READ_BUFFER as u64;
const HTTP2_AHEAD: u64 = MAX_STREAMS as u64 * STREAM_WINDOW as u64;

/// A stream that fails when its peer misses a deadline, or sends too much beside the bodies of its requests.
pub(super) struct TimeoutIo<S> {
    stream: S,
    connection: Arc<ConnectionState>,
    bounds: ConnectionBounds,
    protocol: Option<Protocol>,
    meter: ReadMeter,
    /// When the head of the next request began to arrive, and how many requests had begun by then.
    head: Option<(Instant, u64)>,
    reading: Pin<Box<Sleep>>,
    /// Set while the peer accepts no bytes.
    stalled: Option<Stall>,
    /// Whether a flush is pending.
    flushing: bool,
    /// When the peer began to delay a reply, and how many requests had begun by then.
    slow: Option<(Instant, u64)>,
    /// When the last delayed reply was completely written.
    written: Option<Instant>,
}

/// A write that the peer does not accept.
struct Stall {
    until: Pin<Box<Sleep>>,
    _reader: ReplyGuard,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

// === impl TimeoutIo ===

impl<S> TimeoutIo<S> {
    pub(super) fn new(stream: S, connection: Arc<ConnectionState>, bounds: ConnectionBounds) -> Self {
        let reading = Box::pin(sleep_until(Instant::now() + bounds.header_timeout));
        Self {
            stream,
            connection,
            bounds,
            protocol: None,
            meter: ReadMeter::default(),
            head: None,
            reading,
            stalled: None,
            flushing: false,
            slow: None,
            written: None,
        }
    }

    fn received(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(first) = bytes.first() else { return Ok(()) };
        if self.protocol.is_none() {
            if *first == TLS_HANDSHAKE {
                tracing::warn!("a client speaks TLS to a plain listener: its urlPrefix should begin with http://");
            }
            // No HTTP method starts like the h2 preface (`PRI`).
            let http2 = bytes.starts_with(b"PRI");
            self.protocol = Some(if http2 { Protocol::Http2 } else { Protocol::Http1 });
        }
        let served = self.connection.served();
        // An idle h2 connection exchanges control frames, so only HTTP/1 bytes start a head. Bytes during a request are
        // its body, which may arrive later than its head.
        let may_be_head = self.protocol == Some(Protocol::Http1) && !self.is_owed_nothing();
        if may_be_head && self.head.is_none_or(|(_, at)| at != served) {
            self.head = Some((Instant::now(), served));
            self.connection.head_began(served);
        }
        let ahead = if self.protocol == Some(Protocol::Http2) { HTTP2_AHEAD } else { HTTP1_AHEAD };
        self.meter.count(bytes.len(), &self.connection, ahead)
    }

    /// Whether a request is in flight, or its reply is not completely written.
    fn is_owed_nothing(&self) -> bool {
        !self.connection.is_idle() || self.stalled.is_some() || self.flushing
    }

    /// The deadline for the peer's next bytes; `None` while it owes nothing.
    fn deadline(&self) -> Option<Instant> {
        if self.is_owed_nothing() {
            return None;
        }
        let (served, idle_since) = (self.connection.served(), self.connection.idle_since());
        Some(match self.head {
            Some((began, at)) if at == served => began + self.bounds.header_timeout,
            _ if served == 0 => idle_since + self.bounds.header_timeout,
            _ => self.written.map_or(idle_since, |written| written.max(idle_since)) + self.bounds.keep_alive,
        })
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let deadline = self.deadline();
        // After a request hyper does not poll again until it is woken. So the timer must be set while the request is in
        // flight.
        let look_again = || Instant::now() + self.bounds.keep_alive.max(MIN_WAIT);
        let next = deadline.unwrap_or_else(look_again);
        if self.reading.deadline() > next {
            self.reading.as_mut().reset(next);
        }
        // A timer that fires early is rearmed, so most requests need not touch it.
        while self.reading.as_mut().poll(cx).is_ready() {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the peer sent no request"));
            }
            self.reading.as_mut().reset(next);
        }
        Poll::Pending
    }

    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.stalled.is_none() {
            let (now, served) = (Instant::now(), self.connection.served());
            let (began, _) = *self.slow.take_if(|(_, at)| *at == served).get_or_insert((now, served));
            self.slow = Some((began, served));
            // Even a steady reader has a deadline: the reply is held in memory meanwhile.
            let until = (now + self.bounds.write_timeout).min(began + self.bounds.reply_timeout);
            self.stalled = Some(Stall { until: Box::pin(sleep_until(until)), _reader: self.connection.reply_guard() });
        }
        if let Some(stalled) = &mut self.stalled {
            ready!(stalled.until.as_mut().poll(cx));
        }
        Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read its reply"))
    }

    fn written(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match result {
            Poll::Pending => self.poll_stalled(cx).map(Err),
            done @ Poll::Ready(_) => {
                self.stalled = None;
                done
            }
        }
    }

    /// A pending flush is a stall, too. A flush that completes at once tells nothing.
    fn flushed(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<()>>) -> Poll<io::Result<()>> {
        if result.is_pending() {
            self.flushing = true;
            return self.poll_stalled(cx).map(Err);
        }
        if std::mem::take(&mut self.flushing) {
            self.stalled = None;
        }
        if self.slow.is_some() && self.connection.is_idle() {
            self.slow = None;
            self.written = Some(Instant::now());
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutIo<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.meter.poll_turn(cx));
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => {
                self.meter.end_turn();
                self.poll_deadline(cx).map(Err)
            }
            Poll::Ready(Ok(())) => Poll::Ready(self.received(&buffer.filled()[before..])),
            failed @ Poll::Ready(Err(_)) => failed,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TLS buffers the bytes before the peer has accepted them, so the flush is pending.
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        self.flushed(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.flushed(cx, result)
    }
}
