//! The memory of a large body, kept for the next: fresh pages cost about as much as reading does.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::sleep;

/// A smaller body has no memory that is worth keeping.
const LARGE: usize = 1 << 20;

/// The memory is given back when it was not used for this long, or twice as long.
const KEEP_FOR: Duration = Duration::from_secs(30);

/// One piece of memory that no body uses.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<PooledBuffer>);

#[derive(Debug, Default)]
struct PooledBuffer {
    memory: Vec<u8>,
    was_used: bool,
}

/// A body, whose memory goes back when nothing refers to it any more.
struct PooledBody {
    body: Vec<u8>,
    pool: Arc<BufferPool>,
}

// === impl BufferPool ===

impl BufferPool {
    /// A place for one piece of memory; must be called within a runtime, which empties it when it is not used.
    pub(super) fn watched() -> Arc<Self> {
        let pool = Arc::new(Self::default());
        let watched: Weak<Self> = Arc::downgrade(&pool);
        tokio::spawn(async move {
            loop {
                #[expect(clippy::disallowed_methods, reason = "memory is kept for a time")]
                sleep(KEEP_FOR).await;
                let Some(pool) = watched.upgrade() else { return };
                pool.expire();
            }
        });
        pool
    }

    /// Empty memory for a body that claims so many bytes; of what is not kept already, at most `at_first` are reserved.
    pub(super) fn take(&self, claimed: usize, at_first: usize) -> Vec<u8> {
        if claimed >= LARGE {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.was_used = true;
            if kept.memory.capacity() > 0 {
                return std::mem::take(&mut kept.memory);
            }
        }
        Vec::with_capacity(claimed.min(at_first))
    }

    /// The body in this memory.
    pub(super) fn lend(self: &Arc<Self>, body: Vec<u8>) -> Bytes {
        if body.len() < LARGE { body.into() } else { Bytes::from_owner(PooledBody { body, pool: Arc::clone(self) }) }
    }

    fn put(&self, mut memory: Vec<u8>) {
        // One huge body shall not keep its memory for many that are not.
        if memory.len() < memory.capacity() / 2 {
            return;
        }
        memory.clear();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let smaller = if kept.memory.capacity() < memory.capacity() {
            std::mem::replace(&mut kept.memory, memory)
        } else {
            memory
        };
        drop(kept);
        // Giving pages back takes time, in which nobody shall wait.
        drop(smaller);
    }

    fn expire(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        pool.0.lock().unwrap().memory.capacity()
    }

    /// A body of so many bytes that is through.
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
