//! Settings of the wire listener, and the interface to its observer.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use crate::{access::BindAccess, tls::Tls};

/// The group and verb that a [`WireObserver`] gets if the URL names none that exists.
pub const NO_LABEL: &str = "-";

/// Observes every reply, on the request path; it must not block.
pub trait WireObserver: Send + Sync {
    /// A request was answered. `failed`: there was no decision, whatever the status.
    fn answered(&self, group: &str, verb: &'static str, status: u16, failed: bool, nodes: usize, elapsed: Duration);

    /// Post-reply work was dropped, since too much is running already.
    fn post_reply_work_dropped(&self) {}

    /// A client was not authorized to bind; the reason is one of a few words.
    fn bind_denied(&self, _reason: &'static str) {}
}

/// Bounds of the wire listener.
#[derive(Debug, Clone)]
pub struct WireConfig {
    /// Bytes that one request body may have.
    pub body_limit: usize,
    /// Bytes for all request bodies together, and for the data decoded from them, until their replies are sent.
    pub memory: usize,
    /// Maximum elements of one list of a request: names, nodes, candidates or victims. Kubernetes supports 5,000 nodes.
    pub max_nodes: usize,
    /// The time that a sender may take for a body.
    pub body_timeout: Duration,
    /// The time that requests in flight may continue after the server was told to stop.
    pub drain: Duration,
    /// Maximum open connections; further ones wait. kube-scheduler has a handful.
    pub max_connections: usize,
    /// Requests in flight at once on all connections, from their head to the end of their reply; further ones wait.
    pub max_requests: usize,
    /// Concurrent decisions per group. Others wait, and the wait counts against the request's deadline.
    pub max_decisions: usize,
    /// Concurrent binds. The limit is high because a bind mostly waits for the API server.
    pub max_binds: usize,
    /// If set, the listener speaks TLS only; otherwise plain HTTP.
    pub tls: Option<Arc<Tls>>,
    /// The clients that may bind.
    pub bind: BindAccess,
}

impl Default for WireConfig {
    fn default() -> Self {
        let cores = available_parallelism().map_or(4, NonZero::get);
        Self {
            body_limit: 256 << 20,
            memory: 1 << 30,
            max_nodes: 100_000,
            body_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(25),
            max_connections: 1024,
            max_requests: 1024,
            max_decisions: (2 * cores).max(4),
            max_binds: 128,
            tls: None,
            bind: BindAccess::default(),
        }
    }
}
