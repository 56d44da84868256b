//! The work after a reply, which starts when the reply was sent.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use plimsoll_core::PostReplyWork;
use tokio::{runtime::Handle, sync::Semaphore};

use crate::config::WireObserver;

/// Runs post-reply work on blocking threads, with bounded concurrency.
pub(super) struct PostReplyExecutor {
    /// Permits for calls of guests; slow guests may use up all of them.
    guest_calls: Arc<Semaphore>,
    /// Permits for cache inserts, which must not wait for guests.
    cache_inserts: Arc<Semaphore>,
    runtime: Handle,
    observer: Arc<dyn WireObserver>,
}

/// The bytes of a reply. The server drops them when they are sent, which starts the work after the reply.
struct SentReply<T> {
    bytes: Bytes,
    work: Option<PostReplyWork>,
    executor: Arc<PostReplyExecutor>,
    /// Released when the reply is sent.
    _held: T,
}

// === impl PostReplyExecutor ===

impl PostReplyExecutor {
    /// Must be called within the runtime that runs the work.
    pub(super) fn new(at_once: usize, observer: Arc<dyn WireObserver>) -> Self {
        let permits = || Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Self { guest_calls: permits(), cache_inserts: permits(), runtime: Handle::current(), observer }
    }

    /// A body of these bytes. When they are sent, `held` is dropped and the work begins.
    pub(super) fn body<T: Send + 'static>(self: &Arc<Self>, bytes: Bytes, work: PostReplyWork, held: T) -> Body {
        let work = (!work.is_empty()).then_some(work);
        Body::from(Bytes::from_owner(SentReply { bytes, work, executor: Arc::clone(self), _held: held }))
    }

    fn run(&self, work: PostReplyWork) {
        let (cache_inserts, guest_calls) = work.split();
        // Each is started even if the other is dropped.
        let done = [self.start(&self.cache_inserts, cache_inserts), self.start(&self.guest_calls, guest_calls)];
        if done != [true; 2] {
            tracing::debug!("work after a reply is left undone: too much of it is waiting");
            self.observer.post_reply_work_dropped();
        }
    }

    /// Starts the work if a permit is free; returns whether it was.
    fn start(&self, permits: &Arc<Semaphore>, work: PostReplyWork) -> bool {
        if work.is_empty() {
            return true;
        }
        let Ok(permit) = Arc::clone(permits).try_acquire_owned() else { return false };
        self.runtime.spawn_blocking(move || {
            let _permit = permit;
            work.run();
        });
        true
    }
}

// === impl SentReply ===

impl<T> AsRef<[u8]> for SentReply<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T> Drop for SentReply<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.executor.run(work);
        }
    }
}
