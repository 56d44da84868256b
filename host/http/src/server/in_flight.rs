//! A request in flight, as its connection and the limits of its listener see it.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::{
    registry::{ConnectionPermit, Registry},
    state::{BodyAwaited, ConnectionState, ReaderAwaited},
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

    /// Whether the request is admitted; it may wait a short time for a permit.
    pub(super) async fn is_admitted(&mut self) -> bool {
        self.permit = self.registry.admit().await;
        self.permit.is_some()
    }

    /// Its body is awaited, unless it has ended already.
    pub(super) fn await_body(&self, has_ended: bool) -> BodyAwaited {
        self.connection.await_body(has_ended)
    }

    /// Its reply is written now.
    pub(super) fn await_reader(&self) -> ReaderAwaited {
        self.connection.await_reader()
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.connection.end_request();
    }
}
