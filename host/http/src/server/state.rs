//! The state of one connection: whether it is idle, the data that its peer owes, and the signals that end it.

mod waits;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use self::waits::{PendingBodies, PendingReplies};

/// The time that an idle connection may take to close: an h2 peer answers one PING, which takes a round trip. New
/// connections wait for it one after another.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

/// The state of one connection.
pub(super) struct ConnectionState {
    opened: Instant,
    /// The number of connections of its peer, this one included.
    of_peer: Arc<AtomicUsize>,
    in_flight: AtomicUsize,
    served: AtomicU64,
    /// Milliseconds after `opened` since which no request is in flight.
    idle_since: AtomicU64,
    /// One more than the number of requests that had begun when the head of another began to arrive. `head_since` has
    /// the time at which it did.
    head: AtomicU64,
    head_since: AtomicU64,
    /// Bytes of bodies that services have read.
    body_bytes: AtomicU64,
    bodies: PendingBodies,
    replies: PendingReplies,
    /// Whether it was told to make room.
    is_leaving: AtomicBool,
    closing: Notify,
    cut: Notify,
}

/// Held while the body of a request is awaited: a connection that is slow with it is among the first to make room.
pub(super) struct BodyGuard(Option<(Arc<ConnectionState>, u64)>);

/// Held while a reply is written: a connection with a slow reader is evicted early, too.
pub(super) struct ReplyGuard(Arc<ConnectionState>);

// === impl ConnectionState ===

impl ConnectionState {
    pub(super) fn new(of_peer: Arc<AtomicUsize>) -> Self {
        Self {
            opened: Instant::now(),
            of_peer,
            in_flight: AtomicUsize::new(0),
            served: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
            head: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            body_bytes: AtomicU64::new(0),
            bodies: PendingBodies::default(),
            replies: PendingReplies::default(),
            is_leaving: AtomicBool::new(false),
            closing: Notify::new(),
            cut: Notify::new(),
        }
    }

    /// The number of connections of its peer.
    pub(super) fn of_peer(&self) -> usize {
        self.of_peer.load(Ordering::Relaxed)
    }

    /// A number that only connections of its peer have.
    pub(super) fn peer(&self) -> usize {
        Arc::as_ptr(&self.of_peer).addr()
    }

    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Requests that have begun so far.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that services have read so far.
    pub(super) fn body_bytes(&self) -> u64 {
        self.body_bytes.load(Ordering::Relaxed)
    }

    /// Whether no request is in flight; a reply may still be on its way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    pub(super) fn idle_since(&self) -> Instant {
        self.opened + Duration::from_millis(self.idle_since.load(Ordering::Relaxed))
    }

    /// Whether it only waits for the next request.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_idle() && !self.replies.is_any()
    }

    /// Records that the head of a request began to arrive after `served` requests.
    pub(super) fn head_began(&self, served: u64) {
        self.head_since.store(self.now(), Ordering::Relaxed);
        self.head.store(served + 1, Ordering::Relaxed);
    }

    /// The time that it has been open without a whole request: none was sent, or the next head is incomplete.
    pub(super) fn unused_for(&self) -> Option<Duration> {
        let served = self.served();
        let is_head_partial = self.head.load(Ordering::Relaxed) == served + 1;
        let since = match served {
            0 => 0,
            _ if is_head_partial => self.head_since.load(Ordering::Relaxed),
            _ => return None,
        };
        self.is_at_rest().then(|| self.since(since))
    }

    /// For how long a body has been awaited.
    pub(super) fn body_awaited_for(&self) -> Option<Duration> {
        self.bodies.oldest().map(|since| self.since(since))
    }

    /// The time that the peer has been awaited, for a body or to read a reply.
    pub(super) fn awaited_for(&self) -> Option<Duration> {
        self.bodies.oldest().into_iter().chain(self.replies.since()).min().map(|since| self.since(since))
    }

    /// Evicts it: it ends at once if unused, else when it is idle.
    pub(super) fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.closing.notify_one();
    }

    /// Whether it was evicted and is about to close.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed) && self.is_at_rest()
    }

    /// Tells it to close once its requests are through.
    pub(super) fn close(&self) {
        self.closing.notify_one();
    }

    /// Ends it at once.
    pub(super) fn cut(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.cut.notify_one();
    }

    /// Waits until the connection is told to close.
    pub(super) async fn until_closing(&self) {
        self.closing.notified().await;
    }

    /// Waits until the connection must end at once.
    pub(super) async fn until_cut(&self) {
        self.cut.notified().await;
    }

    /// Waits until the connection was told to close and has been idle for [`CLOSE_TIMEOUT`].
    pub(super) async fn until_parted(&self) {
        loop {
            #[expect(clippy::disallowed_methods, reason = "a time without requests is what is waited for")]
            sleep(CLOSE_TIMEOUT).await;
            if self.is_at_rest() && self.idle_since().elapsed() >= CLOSE_TIMEOUT {
                return;
            }
        }
    }

    /// A request begins.
    pub(super) fn begin_request(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
    }

    /// A request ends: its reply is written, or it was given up.
    pub(super) fn end_request(&self) {
        self.idle_since.store(self.now(), Ordering::Relaxed);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// A body is awaited until this is dropped, unless the body has ended already.
    pub(super) fn body_guard(self: &Arc<Self>, has_ended: bool) -> BodyGuard {
        if has_ended {
            return BodyGuard(None);
        }
        let now = self.now();
        self.bodies.begin(now);
        BodyGuard(Some((Arc::clone(self), now)))
    }

    /// The reader of a reply is awaited until this is dropped.
    pub(super) fn reply_guard(self: &Arc<Self>) -> ReplyGuard {
        self.replies.begin(|| self.now());
        ReplyGuard(Arc::clone(self))
    }

    fn since(&self, milliseconds: u64) -> Duration {
        self.opened.elapsed().saturating_sub(Duration::from_millis(milliseconds))
    }

    fn now(&self) -> u64 {
        self.opened.elapsed().as_millis() as u64
    }
}

// === impl BodyGuard ===

impl BodyGuard {
    /// Counts bytes that the service has read.
    pub(super) fn received(&self, bytes: usize) {
        if let Some((connection, _)) = &self.0 {
            connection.body_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for BodyGuard {
    fn drop(&mut self) {
        if let Some((connection, began)) = &self.0 {
            connection.bodies.end(*began);
        }
    }
}

// === impl ReplyGuard ===

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        // The peer has read something. On a busy h2 connection there may always be a pending reply.
        self.0.replies.end(self.0.now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_awaited_until_its_guard_is_dropped() {
        let connection = Arc::new(ConnectionState::new(Arc::default()));
        drop(connection.body_guard(true));
        assert_eq!(connection.awaited_for(), None);
        let awaited = [connection.body_guard(false), connection.body_guard(false)];
        assert!(connection.body_awaited_for().is_some());
        drop(awaited);
        assert_eq!(connection.awaited_for(), None);
    }
}
