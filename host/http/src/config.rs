//! What an operator may set about the wire.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use crate::{AllowedHosts, BindAccess, Tls};

/// Bounds of the wire listener.
#[derive(Debug, Clone)]
pub struct WireConfig {
    /// Bytes that one request body may have.
    pub body_limit: usize,
    /// Bytes for all request bodies together, and for what is made of them until their replies are out.
    pub memory: usize,
    /// How long a connection may be idle between requests; kube-scheduler reuses one for up to 90 s.
    pub keep_alive: Duration,
    /// How long a sender may take for its headers, and for the first byte of a new connection.
    pub header_timeout: Duration,
    /// How long a sender may take for a body, and a reader may leave a reply unread.
    pub body_timeout: Duration,
    /// How long a reader may take for a whole reply, however steadily it reads.
    pub reply_timeout: Duration,
    /// How long requests in flight may go on once the server stops.
    pub drain: Duration,
    /// Connections open at once; at the limit one without a whole request makes room, then one that is slow with a
    /// body or a reply, then one that is idle.
    pub max_connections: usize,
    /// Requests in flight at once on all connections, from their head to the end of their reply.
    pub max_requests: usize,
    /// Decisions made at once for each group; others wait, and their wait counts against their time.
    pub max_decisions: usize,
    /// Binds under way at once: they mostly wait for the API server, so that they are many.
    pub max_binds: usize,
    /// What makes the listener speak TLS, and nothing else; without it, it speaks plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// Who may bind.
    pub bind: BindAccess,
    /// Under which names it may be asked for where it is on loopback and speaks plain HTTP.
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
