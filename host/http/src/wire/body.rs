//! Reads request bodies into one buffer each, bounded in size, time and total memory.

mod pool;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout_at};

use self::pool::BufferPool;
use crate::{
    WireConfig,
    error::WireError,
    memory::{MemoryReservation, WireMemory},
    server::RequestBody,
};

/// Initial buffer capacity per byte that has arrived. The claimed length is not trusted.
const AHEAD: usize = 4;

/// Reads bodies within bounds.
pub(super) struct BodyReader {
    limit: usize,
    timeout: Duration,
    budget: Arc<WireMemory>,
    pool: Arc<BufferPool>,
}

/// A whole body.
pub(super) struct ReceivedBody {
    pub(super) bytes: Bytes,
    /// Released when this is dropped.
    pub(super) reserved: MemoryReservation,
}

// === impl BodyReader ===

impl BodyReader {
    /// Must be called within the runtime that reads bodies.
    pub(super) fn new(config: &WireConfig) -> Self {
        let (limit, timeout) = (config.body_limit, config.body_timeout);
        Self { limit, timeout, budget: WireMemory::new(config.memory), pool: BufferPool::watched() }
    }

    /// The whole body.
    pub(super) async fn read(&self, mut body: RequestBody) -> Result<ReceivedBody, WireError> {
        let deadline = Instant::now() + self.timeout;
        let claimed = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if claimed > self.limit {
            return Err(self.discard(body, 0, deadline).await);
        }
        let mut reserved = MemoryReservation::of(&self.budget);
        let mut whole = Vec::new();
        while let Some(piece) = self.next(&mut body, deadline).await? {
            let read = whole.len() + piece.len();
            if read > self.limit {
                drop(whole);
                return Err(self.discard(body, read, deadline).await);
            }
            reserved.grow(piece.len()).map_err(WireError::closing)?;
            // Most requests by name arrive in one piece, and are not copied.
            if whole.is_empty() && body.is_end_stream() {
                return Ok(ReceivedBody { bytes: piece, reserved });
            }
            if whole.is_empty() {
                whole = self.pool.take(claimed.max(read), AHEAD * read);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(ReceivedBody { bytes: self.pool.lend(whole), reserved })
    }

    /// Drains a body that is not needed, so that the connection can be reused.
    pub(super) async fn skip(&self, body: RequestBody) {
        // The reply is an error already, and hyper closes a connection whose body is left unread.
        drop(self.discard(body, 0, Instant::now() + self.timeout).await);
    }

    /// Drains a body that is too large, up to twice the limit, so that the sender receives the reply.
    async fn discard(&self, mut body: RequestBody, mut read: usize, deadline: Instant) -> WireError {
        while read / 2 <= self.limit {
            match self.next(&mut body, deadline).await {
                Ok(Some(piece)) => read = read.saturating_add(piece.len()),
                Ok(None) => return WireError::too_large(self.limit, false),
                Err(_) => break,
            }
        }
        WireError::too_large(self.limit, true)
    }

    /// The next piece of data; none at the end.
    async fn next(&self, body: &mut RequestBody, deadline: Instant) -> Result<Option<Bytes>, WireError> {
        let too_slow = |_| WireError::too_slow(self.timeout.as_secs_f64());
        while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(too_slow)? {
            // Other frames are trailers, which are ignored.
            if let Ok(data) = frame.map_err(|error| WireError::broken(&error))?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}
