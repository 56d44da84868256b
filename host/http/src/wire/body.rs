//! Reads request bodies: one piece of memory each, bounded in size and time, and all together.

mod pool;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout_at};

use self::pool::BufferPool;
use crate::{
    WireConfig,
    error::WireError,
    memory::{MemoryReservation, WireMemory},
};

/// The memory that a body gets at first, for each byte that has arrived: a sender cannot claim what it does not send.
const AHEAD: usize = 4;

/// Reads bodies within bounds.
pub(super) struct BodyReader {
    limit: usize,
    patience: Duration,
    budget: Arc<WireMemory>,
    pool: Arc<BufferPool>,
}

/// A whole body.
pub(super) struct ReceivedBody {
    pub(super) bytes: Bytes,
    /// Counted until this is dropped.
    pub(super) reserved: MemoryReservation,
}

// === impl BodyReader ===

impl BodyReader {
    /// Must be called within the runtime that bodies are read in.
    pub(super) fn new(config: &WireConfig) -> Self {
        let (limit, patience) = (config.body_limit, config.body_timeout);
        Self { limit, patience, budget: WireMemory::new(config.memory), pool: BufferPool::watched() }
    }

    /// The whole body.
    pub(super) async fn read(&self, mut body: Incoming) -> Result<ReceivedBody, WireError> {
        let deadline = Instant::now() + self.patience;
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
            // Most requests by name come in one piece: no copy then.
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

    /// Reads a body that nobody wants, so that the connection can be used again.
    pub(super) async fn skip(&self, body: Incoming) {
        // The reply is an error already, and hyper closes a connection whose body is left unread.
        drop(self.discard(body, 0, Instant::now() + self.patience).await);
    }

    /// Reads on and throws away, so that the sender gets to see the reply; as much again, not more.
    async fn discard(&self, mut body: Incoming, mut read: usize, deadline: Instant) -> WireError {
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
    async fn next(&self, body: &mut Incoming, deadline: Instant) -> Result<Option<Bytes>, WireError> {
        let too_slow = |_| WireError::too_slow(self.patience.as_secs_f64());
        while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(too_slow)? {
            // Anything but data is a trailer, which says nothing to us.
            if let Ok(data) = frame.map_err(WireError::broken)?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}
