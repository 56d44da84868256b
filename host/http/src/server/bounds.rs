//! Limits for connections.

use std::time::Duration;

use crate::WireConfig;

/// Requests that one h2 connection may have in flight: kube-scheduler has a few, for binds.
pub(super) const MAX_STREAMS: u32 = 64;

/// Bytes that h2 senders may send ahead of us; kube-scheduler's full-node requests are large.
pub(super) const STREAM_WINDOW: u32 = 1 << 20;
/// The same for all streams of a connection together.
pub(super) const CONNECTION_WINDOW: u32 = 4 << 20;

/// Maximum bytes of a head, and of one read of a body. Most requests by name fit into one read.
pub(super) const READ_BUFFER: usize = 256 << 10;

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
