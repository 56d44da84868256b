//! Work that is left when a reply has been sent.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Work that a request defers: run it after the reply.
#[must_use = "shadow policies are asked by `run`"]
#[derive(Default)]
pub struct PostReplyWork {
    /// They take the host some milliseconds at most.
    pub(super) cache_inserts: Vec<Work>,
    /// They take as long as guests may.
    pub(super) guest_calls: Vec<Work>,
}

pub(super) type Work = Box<dyn FnOnce() + Send>;

// === impl PostReplyWork ===

impl PostReplyWork {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.cache_inserts.is_empty() && self.guest_calls.is_empty()
    }

    /// The inserts into the cache, which take little time, and the calls of guests, which may take long: so that the
    /// first need not wait for the second.
    pub fn split(self) -> (Self, Self) {
        (
            Self { cache_inserts: self.cache_inserts, ..Self::default() },
            Self { guest_calls: self.guest_calls, ..Self::default() },
        )
    }

    /// Does the work; it may take as long as the shadow policies may.
    pub fn run(self) {
        for work in self.cache_inserts.into_iter().chain(self.guest_calls) {
            // A bug that one policy sets off must not keep another's work from being done; the panic has told of it.
            let _ = catch_unwind(AssertUnwindSafe(work));
        }
    }
}

impl fmt::Debug for PostReplyWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostReplyWork")
            .field("cache_inserts", &self.cache_inserts.len())
            .field("guest_calls", &self.guest_calls.len())
            .finish()
    }
}
