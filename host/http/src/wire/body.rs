//! Reads request bodies, bounded in size, time and total memory.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::{config::WireConfig, error::WireError, memory::MemoryReservation};

/// Reads bodies within bounds.
pub(super) struct BodyReader {
    limit: usize,
    timeout: Duration,
    /// The memory that is left for all requests.
    free: Arc<AtomicUsize>,
}

/// A whole body.
pub(super) struct ReceivedBody {
    pub(super) bytes: Bytes,
    /// Released when this is dropped.
    pub(super) reserved: MemoryReservation,
}

// === impl BodyReader ===

impl BodyReader {
    pub(super) fn new(config: &WireConfig) -> Self {
        let (limit, timeout) = (config.body_limit, config.body_timeout);
        Self { limit, timeout, free: Arc::new(AtomicUsize::new(config.memory)) }
    }

    /// The whole body.
    ///
    /// # Errors
    /// If it is too large, does not arrive in time, or there is no memory for it.
    pub(super) async fn read(&self, mut body: Body) -> Result<ReceivedBody, WireError> {
        let mut reserved = MemoryReservation::of(&self.free);
        let (mut whole, mut length) = (Vec::new(), 0usize);
        let reading = async {
            while let Some(frame) = body.frame().await {
                // Other frames are trailers, which are ignored.
                let Ok(piece) = frame.map_err(|error| WireError::broken(&error))?.into_data() else { continue };
                length = length.saturating_add(piece.len());
                if length > self.limit {
                    // The rest is thrown away, up to twice the limit, so that the sender reads the reply.
                    whole = Vec::new();
                    if length / 2 > self.limit {
                        return Err(WireError::too_large(self.limit).closing());
                    }
                    continue;
                }
                reserved.grow(piece.len()).map_err(WireError::closing)?;
                // Most requests by name arrive in one piece, and are not copied.
                if whole.is_empty() && body.is_end_stream() {
                    return Ok(ReceivedBody { bytes: piece, reserved });
                }
                whole.extend_from_slice(&piece);
            }
            if length > self.limit {
                return Err(WireError::too_large(self.limit));
            }
            Ok(ReceivedBody { bytes: whole.into(), reserved })
        };
        let read = timeout(self.timeout, reading).await;
        read.unwrap_or_else(|_| Err(WireError::too_slow(self.timeout.as_secs_f64())))
    }
}
