//! Settings of the wire listener.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use crate::{AllowedHosts, BindAccess, Tls};

/// Bounds of the wire listener.
#[derive(Debug, Clone)]
pub struct WireConfig {
    /// Bytes that one request body may have.
    pub body_limit: usize,
    /// Bytes for all request bodies together, and for everything derived from them until their replies were sent.
    pub memory: usize,
    /// The time that a connection may be idle between requests; kube-scheduler reuses one for up to 90 s.
    pub keep_alive: Duration,
    /// The time that a sender may take for its headers, and for the first byte of a new connection.
    pub header_timeout: Duration,
    /// The time that a sender may take for a body, and that a reader may leave a reply unread.
    pub body_timeout: Duration,
    /// The time that a reader may take for a whole reply, however steadily it reads.
    pub reply_timeout: Duration,
    /// The time that requests in flight may continue after the server was told to stop.
    pub drain: Duration,
    /// Maximum open connections. At the limit the registry closes, in this order, a connection without a whole request,
    /// a slow one, or an idle one.
    pub max_connections: usize,
    /// Requests in flight at once on all connections, from their head to the end of their reply.
    pub max_requests: usize,
    /// Concurrent decisions per group. Others wait, and the wait counts against the request's deadline.
    pub max_decisions: usize,
    /// Concurrent binds. The limit is high because a bind mostly waits for the API server.
    pub max_binds: usize,
    /// If set, the listener speaks TLS only; otherwise plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// The clients that may bind.
    pub bind: BindAccess,
    /// Allowed `Host` names, where the listener is on loopback and speaks plain HTTP.
    pub hosts: AllowedHosts,
}

impl Default for WireConfig {
    fn default() -> Self {
        let cores = available_parallelism().map_or(4, NonZero::get);
        Self {
            body_limit: 256 << 20,
            memory: 1 << 30,
            keep_alive: Duration::from_mins(2),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            reply_timeout: Duration::from_mins(2),
            drain: Duration::from_secs(25),
            max_connections: 4096,
            max_requests: 1024,
            max_decisions: (2 * cores).max(4),
            max_binds: 128,
            tls: None,
            bind: BindAccess::default(),
            hosts: AllowedHosts::default(),
        }
    }
}
