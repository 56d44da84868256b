//! A pool of one buffer for large bodies: page faults on fresh memory cost about as much as reading.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::sleep;

/// Smaller bodies are not pooled.
const LARGE: usize = 1 << 20;

/// The buffer is freed after one to two of these periods without use.
const KEEP_TIMEOUT: Duration = Duration::from_secs(30);

/// A pool that holds at most one free buffer.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<PooledBuffer>);

#[derive(Debug, Default)]
struct PooledBuffer {
    memory: Vec<u8>,
    was_used: bool,
}

/// A body whose buffer returns to the pool when its last reference is dropped.
struct PooledBody {
    body: Vec<u8>,
    pool: Arc<BufferPool>,
}

// === impl BufferPool ===

impl BufferPool {
    /// A pool, and a task that frees its buffer when it is unused. Must be called within a runtime.
    pub(super) fn watched() -> Arc<Self> {
        let pool = Arc::new(Self::default());
        let watched: Weak<Self> = Arc::downgrade(&pool);
        tokio::spawn(async move {
            loop {
                #[expect(clippy::disallowed_methods, reason = "memory is kept for a time")]
                sleep(KEEP_TIMEOUT).await;
                let Some(pool) = watched.upgrade() else { return };
                pool.expire();
            }
        });
        pool
    }

    /// Returns an empty buffer: the pooled one for a large body, else a new one of `min(claimed, at_first)` bytes.
    pub(super) fn take(&self, claimed: usize, at_first: usize) -> Vec<u8> {
        if claimed >= LARGE {
            let mut kept = self.0.lock();
            kept.was_used = true;
            if kept.memory.capacity() > 0 {
                return std::mem::take(&mut kept.memory);
            }
        }
        Vec::with_capacity(claimed.min(at_first))
    }

    /// The body in this buffer.
    pub(super) fn lend(self: &Arc<Self>, body: Vec<u8>) -> Bytes {
        if body.len() < LARGE { body.into() } else { Bytes::from_owner(PooledBody { body, pool: Arc::clone(self) }) }
    }

    fn put(&self, mut memory: Vec<u8>) {
        // A huge buffer must not stay in the pool for much smaller bodies.
        if memory.len() < memory.capacity() / 2 {
            return;
        }
        memory.clear();
        let mut kept = self.0.lock();
        let smaller = if kept.memory.capacity() < memory.capacity() {
            std::mem::replace(&mut kept.memory, memory)
        } else {
            memory
        };
        drop(kept);
        // Freed outside the lock: unmapping pages takes time.
        drop(smaller);
    }

    fn expire(&self) {
        let mut kept = self.0.lock();
        let unused = if std::mem::take(&mut kept.was_used) { vec![] } else { std::mem::take(&mut kept.memory) };
        drop(kept);
        drop(unused);
    }
}

// === impl PooledBody ===

impl AsRef<[u8]> for PooledBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for PooledBody {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.body));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pool: &BufferPool) -> usize {
        pool.0.lock().memory.capacity()
    }

    /// Passes a body of this many bytes through the pool.
    fn pass(pool: &Arc<BufferPool>, bytes: usize) -> *const u8 {
        let mut memory = pool.take(bytes, bytes);
        assert!(memory.is_empty());
        memory.resize(bytes, b'x');
        let body = pool.lend(memory);
        assert!(body.len() == bytes && body.iter().all(|byte| *byte == b'x'));
        let part = body.slice(bytes / 2..);
        drop(body);
        part.as_ptr().wrapping_sub(bytes / 2)
    }

    #[test]
    fn the_memory_of_a_large_body_serves_the_next() {
        let pool = Arc::new(BufferPool::default());
        let first = pass(&pool, 2 * LARGE);
        assert_eq!(kept(&pool), 2 * LARGE);
        assert_eq!((pass(&pool, 2 * LARGE), pass(&pool, LARGE)), (first, first));
    }

    #[test]
    fn memory_that_the_last_body_did_not_half_fill_is_given_back() {
        let pool = Arc::new(BufferPool::default());
        pass(&pool, 4 * LARGE);
        pass(&pool, LARGE);
        assert_eq!(kept(&pool), 0);
    }

    #[test]
    fn one_piece_is_kept_the_largest() {
        let pool = Arc::new(BufferPool::default());
        let bodies: Vec<Bytes> = [LARGE, 3 * LARGE, 2 * LARGE].map(|bytes| pool.lend(vec![0; bytes])).into();
        drop(bodies);
        assert_eq!(kept(&pool), 3 * LARGE);
    }

    #[test]
    fn a_small_body_has_memory_of_its_own() {
        let pool = Arc::new(BufferPool::default());
        pass(&pool, LARGE - 1);
        assert_eq!(kept(&pool), 0);
        pass(&pool, LARGE);
        pass(&pool, 10);
        assert_eq!(kept(&pool), LARGE);
    }

    #[test]
    fn what_is_claimed_is_not_reserved() {
        let pool = BufferPool::default();
        assert_eq!(pool.take(usize::MAX, 100).capacity(), 100);
        assert_eq!(pool.take(10, 100).capacity(), 10);
    }

    #[test]
    fn memory_that_nobody_uses_is_given_back() {
        let pool = Arc::new(BufferPool::default());
        pass(&pool, LARGE);
        pool.expire();
        assert_eq!(kept(&pool), LARGE, "it was used just now");
        pool.expire();
        assert_eq!(kept(&pool), 0);
    }
}
