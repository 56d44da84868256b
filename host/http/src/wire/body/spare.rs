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
pub(super) struct Spare(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    memory: Vec<u8>,
    was_used: bool,
}

/// A body, whose memory goes back when nothing refers to it any more.
struct Lent {
    body: Vec<u8>,
    home: Arc<Spare>,
}

// === impl Spare ===

impl Spare {
    /// A place for one piece of memory; must be called within a runtime, which empties it when it is not used.
    pub(super) fn watched() -> Arc<Self> {
        let spare = Arc::new(Self::default());
        let watched: Weak<Self> = Arc::downgrade(&spare);
        tokio::spawn(async move {
            loop {
                #[expect(clippy::disallowed_methods, reason = "memory is kept for a time")]
                sleep(KEEP_FOR).await;
                let Some(spare) = watched.upgrade() else { return };
                spare.expire();
            }
        });
        spare
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
        if body.len() < LARGE { body.into() } else { Bytes::from_owner(Lent { body, home: Arc::clone(self) }) }
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

// === impl Lent ===

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.put(std::mem::take(&mut self.body));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(spare: &Spare) -> usize {
        spare.0.lock().unwrap().memory.capacity()
    }

    /// A body of so many bytes that is through.
    fn pass(spare: &Arc<Spare>, bytes: usize) -> *const u8 {
        let mut memory = spare.take(bytes, bytes);
        assert!(memory.is_empty());
        memory.resize(bytes, b'x');
        let body = spare.lend(memory);
        assert!(body.len() == bytes && body.iter().all(|byte| *byte == b'x'));
        let part = body.slice(bytes / 2..);
        drop(body);
        part.as_ptr().wrapping_sub(bytes / 2)
    }

    #[test]
    fn the_memory_of_a_large_body_serves_the_next() {
        let spare = Arc::new(Spare::default());
        let first = pass(&spare, 2 * LARGE);
        assert_eq!(kept(&spare), 2 * LARGE);
        assert_eq!((pass(&spare, 2 * LARGE), pass(&spare, LARGE)), (first, first));
    }

    #[test]
    fn memory_that_the_last_body_did_not_half_fill_is_given_back() {
        let spare = Arc::new(Spare::default());
        pass(&spare, 4 * LARGE);
        pass(&spare, LARGE);
        assert_eq!(kept(&spare), 0);
    }

    #[test]
    fn one_piece_is_kept_the_largest() {
        let spare = Arc::new(Spare::default());
        let bodies: Vec<Bytes> = [LARGE, 3 * LARGE, 2 * LARGE].map(|bytes| spare.lend(vec![0; bytes])).into();
        drop(bodies);
        assert_eq!(kept(&spare), 3 * LARGE);
    }

    #[test]
    fn a_small_body_has_memory_of_its_own() {
        let spare = Arc::new(Spare::default());
        pass(&spare, LARGE - 1);
        assert_eq!(kept(&spare), 0);
        pass(&spare, LARGE);
        pass(&spare, 10);
        assert_eq!(kept(&spare), LARGE);
    }

    #[test]
    fn what_is_claimed_is_not_reserved() {
        let spare = Spare::default();
        assert_eq!(spare.take(usize::MAX, 100).capacity(), 100);
        assert_eq!(spare.take(10, 100).capacity(), 10);
    }

    #[test]
    fn memory_that_nobody_uses_is_given_back() {
        let spare = Arc::new(Spare::default());
        pass(&spare, LARGE);
        spare.expire();
        assert_eq!(kept(&spare), LARGE, "it was used just now");
        spare.expire();
        assert_eq!(kept(&spare), 0);
    }
}
