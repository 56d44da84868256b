//! Bounds for the bytes that a peer sends: in one turn of its connection's task, and beside the bodies of its requests.

use std::{
    io,
    pin::pin,
    task::{Context, Poll},
};

use tokio::task::yield_now;

use super::{bounds::READ_BUFFER, state::ConnectionState};

/// Bytes of framing after which a connection yields its thread. hyper decodes for as long as bytes are ready, and the size
/// of a chunk byte by byte, which takes milliseconds. Most requests by name have fewer bytes, and do not yield.
const TURN: u64 = READ_BUFFER as u64;

/// Bytes of a body that count as one of framing: they are copied, not parsed.
const BODY_PER_TURN: u64 = 8;

/// Bytes of a request beside its body, 256 KiB of them for the head. No length bounds the rest, the framing of chunks.
const FRAMING: u64 = 1 << 20;

/// The framing of a large body may have this part of it in addition: that of chunks of 48 bytes or more fits.
const BODY_PER_FRAMING: u64 = 8;

/// The bytes that were read from one connection.
#[derive(Default)]
pub(super) struct ReadMeter {
    /// Bytes of framing in this turn.
    turn: u64,
    /// The number of requests that have begun.
    served: u64,
    /// Bytes since the last of them began, framing included.
    bytes: u64,
    /// Bytes of bodies that the connection had delivered by then.
    bodies: u64,
    /// The most bytes beside the body so far. Bytes of a body count among them until it is delivered.
    framing: u64,
}

// === impl ReadMeter ===

impl ReadMeter {
    /// Yields once a turn has read enough.
    pub(super) fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.turn < TURN {
            return Poll::Ready(());
        }
        self.end_turn();
        // The runtime first looks for bytes on other connections, which it does not after a plain wake.
        pin!(yield_now()).poll(cx)
    }

    /// No bytes are ready: the task yields by itself.
    pub(super) fn end_turn(&mut self) {
        self.turn = 0;
    }

    /// Counts bytes that were read, of which `ahead` may be in buffers.
    ///
    /// # Errors
    /// If too many of this request's bytes are no part of a body.
    pub(super) fn count(&mut self, bytes: usize, connection: &ConnectionState, ahead: u64) -> io::Result<()> {
        let (served, bodies) = (connection.served(), connection.body_bytes());
        if self.served != served {
            *self = Self { turn: self.turn, served, bytes: 0, bodies, framing: 0 };
        }
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let body = bodies.saturating_sub(self.bodies);
        let framing = self.bytes.saturating_sub(body);
        let new = framing.saturating_sub(self.framing).saturating_add(bytes as u64 / BODY_PER_TURN);
        (self.turn, self.framing) = (self.turn.saturating_add(new), self.framing.max(framing));
        if framing <= FRAMING.saturating_add(ahead).saturating_add(body / BODY_PER_FRAMING) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{framing} bytes beside a body of {body}: send Content-Length, or larger chunks"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn connection() -> Arc<ConnectionState> {
        Arc::new(ConnectionState::new(Arc::default()))
    }

    #[test]
    fn a_connection_that_always_has_bytes_yields_and_is_woken() {
        let (connection, count, mut meter) = (connection(), Arc::<Wakes>::default(), ReadMeter::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        for turn in 0..3 {
            for _ in 0..4 {
                assert!(meter.poll_turn(&mut cx).is_ready());
                meter.count(TURN as usize / 4, &connection, 0).unwrap();
            }
            assert!(meter.poll_turn(&mut cx).is_pending());
            assert_eq!(count.0.load(Ordering::Relaxed), turn + 1);
        }
        meter.count(TURN as usize - 1, &connection, 0).unwrap();
        meter.end_turn();
        assert!(meter.poll_turn(&mut cx).is_ready());
    }

    #[test]
    fn a_large_body_yields_once_in_eight_reads_and_small_chunks_after_each() {
        let polls = |body_of_read: usize| {
            let (connection, mut meter, mut yields) = (connection(), ReadMeter::default(), 0);
            let mut cx = Context::from_waker(Waker::noop());
            connection.begin_request();
            let body = connection.body_guard(false);
            for _ in 0..80 {
                while meter.poll_turn(&mut cx).is_pending() {
                    yields += 1;
                }
                meter.count(READ_BUFFER, &connection, u64::MAX).unwrap();
                // A read is delivered before the next one.
                body.received(body_of_read);
            }
            yields
        };
        assert_eq!([polls(READ_BUFFER), polls(READ_BUFFER / 100)], [10, 79]);
    }

    #[test]
    fn framing_is_bounded_by_the_body_that_it_frames() {
        let (connection, mut meter) = (connection(), ReadMeter::default());
        connection.begin_request();
        let body = connection.body_guard(false);
        for _ in 0..1000 {
            meter.count(9 << 10, &connection, 1 << 10).unwrap();
            body.received(8 << 10);
        }
        meter.count(FRAMING as usize, &connection, 1 << 10).unwrap();
        let error = meter.count(2 << 10, &connection, 1 << 10).unwrap_err();
        assert!(error.to_string().contains("beside a body of 8192000"), "{error}");
    }

    #[test]
    fn each_request_counts_by_itself() {
        let (connection, mut meter) = (connection(), ReadMeter::default());
        for _ in 0..3 {
            connection.begin_request();
            meter.count(FRAMING as usize, &connection, 0).unwrap();
        }
        meter.count(1, &connection, 0).unwrap_err();
    }
}
