//! A request in flight, as its connection and the limits of its listener see it.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::{
    registry::{ConnectionPermit, Registry},
    state::{BodyGuard, ConnectionState, ReplyGuard},
};

/// One request in flight.
pub(super) struct InFlight {
    registry: Arc<Registry>,
    connection: Arc<ConnectionState>,
    /// None until it is admitted.
    permit: Option<OwnedSemaphorePermit>,
}

// === impl InFlight ===

impl InFlight {
    /// A request begins on a connection; it is in flight until this is dropped.
    pub(super) fn begin(on: &ConnectionPermit) -> Self {
        on.connection().begin_request();
        Self { registry: Arc::clone(on.registry()), connection: Arc::clone(on.connection()), permit: None }
    }

    /// Takes a permit for the request, which may wait a short time for one. Returns whether there was one.
    pub(super) async fn admit(&mut self) -> bool {
        self.permit = self.registry.admit().await;
        self.permit.is_some()
    }

    /// Held while its body is awaited; see [`ConnectionState::body_guard`].
    pub(super) fn body_guard(&self, has_ended: bool) -> BodyGuard {
        self.connection.body_guard(has_ended)
    }

    /// Held while its reply is written.
    pub(super) fn reply_guard(&self) -> ReplyGuard {
        self.connection.reply_guard()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.end_request();
    }
}
