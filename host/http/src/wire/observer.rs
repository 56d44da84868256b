//! The reports of the wire about its requests, for metrics.

use std::time::Duration;

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
