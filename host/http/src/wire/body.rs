//! Reads request bodies: one piece of memory, never more than the limit, never for longer than allowed.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::{WireConfig, error::WireError};

/// What is reserved at first for a body, whatever length it claims; more follows as it arrives.
const FIRST_RESERVE: usize = 1 << 20;

/// Reads bodies within bounds.
pub(super) struct Intake {
    limit: usize,
    patience: Duration,
}

// === impl Intake ===

impl Intake {
    pub(super) fn new(config: &WireConfig) -> Self {
        Self { limit: config.body_limit, patience: config.body_timeout }
    }

    /// The whole body.
    pub(super) async fn read(&self, body: Body) -> Result<Bytes, WireError> {
        timeout(self.patience, self.collect(body))
            .await
            .unwrap_or_else(|_| Err(WireError::too_slow(self.patience.as_secs_f64())))
    }

    async fn collect(&self, mut body: Body) -> Result<Bytes, WireError> {
        let claimed = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if claimed > self.limit {
            return Err(self.discard(body, 0).await);
        }
        let mut whole = BytesMut::new();
        while let Some(piece) = next(&mut body).await? {
            if whole.len() + piece.len() > self.limit {
                let read = whole.len() + piece.len();
                drop(whole);
                return Err(self.discard(body, read).await);
            }
            // Most requests by name come in one piece: no copy then.
            if whole.is_empty() && body.is_end_stream() {
                return Ok(piece);
            }
            if whole.is_empty() {
                whole.reserve(claimed.clamp(piece.len(), FIRST_RESERVE.max(piece.len())));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// Reads on and throws away, so that the sender gets to see the reply; as much again, not more.
    async fn discard(&self, mut body: Body, mut read: usize) -> WireError {
        while let Ok(Some(piece)) = next(&mut body).await {
            read = read.saturating_add(piece.len());
            if read / 2 > self.limit {
                return WireError::too_large(self.limit, true);
            }
        }
        WireError::too_large(self.limit, !body.is_end_stream())
    }
}

/// The next piece of data; none at the end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, WireError> {
    while let Some(frame) = body.frame().await {
        // Anything but data is a trailer, which says nothing to us.
        if let Ok(data) = frame.map_err(WireError::broken)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
