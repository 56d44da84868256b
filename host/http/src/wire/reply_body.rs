//! Reply bodies, and the work after a reply, which starts when the server has taken the whole body.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use plimsoll_core::PostReplyWork;
use tokio::{runtime::Handle, sync::Semaphore};

use super::observer::WireObserver;
use crate::{memory::MemoryReservation, reply::ReplyBytes};

/// Runs post-reply work on blocking threads, with bounded concurrency.
pub(super) struct PostReplyExecutor {
    /// Permits for calls of guests; slow guests may use up all of them.
    guest_calls: Arc<Semaphore>,
    /// Permits for cache inserts, which must not wait for guests.
    cache_inserts: Arc<Semaphore>,
    runtime: Handle,
    observer: Arc<dyn WireObserver>,
}

/// The work after one reply; it starts when this is dropped.
pub(super) struct HeldWork {
    work: Option<PostReplyWork>,
    post_reply: Arc<PostReplyExecutor>,
}

/// Maximum bytes of one h2 frame: h2 buffers a whole frame even if its reader has no window.
const FRAME: usize = 64 << 10;

/// The body of a reply.
pub(super) struct ReplyBody {
    /// The bytes that are still to be sent.
    rest: ReplyBytes,
    /// Maximum bytes of one frame.
    most: usize,
    _held_work: Option<HeldWork>,
    /// Released with the last frame.
    _reserved: Option<MemoryReservation>,
}

// === impl PostReplyExecutor ===

impl PostReplyExecutor {
    /// Must be called within the runtime that runs the work.
    pub(super) fn new(at_once: usize, observer: Arc<dyn WireObserver>) -> Self {
        let room = || Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Self { guest_calls: room(), cache_inserts: room(), runtime: Handle::current(), observer }
    }

    /// Holds the work of a reply until the reply was sent.
    pub(super) fn hold(post_reply: &Arc<Self>, work: PostReplyWork) -> Option<HeldWork> {
        (!work.is_empty()).then(|| HeldWork { work: Some(work), post_reply: Arc::clone(post_reply) })
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
    fn start(&self, room: &Arc<Semaphore>, work: PostReplyWork) -> bool {
        if work.is_empty() {
            return true;
        }
        let Ok(permit) = Arc::clone(room).try_acquire_owned() else { return false };
        self.runtime.spawn_blocking(move || {
            let _permit = permit;
            work.run();
        });
        true
    }
}

impl Drop for HeldWork {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.post_reply.run(work);
        }
    }
}

// === impl ReplyBody ===

impl ReplyBody {
    pub(super) fn new(body: ReplyBytes, held_work: Option<HeldWork>, reserved: Option<MemoryReservation>) -> Self {
        Self { rest: body, most: usize::MAX, _held_work: held_work, _reserved: reserved }
    }

    /// Splits the body into frames for h2, where a stream is in flight until its reader has window for the last frame.
    pub(super) fn in_frames(self) -> Self {
        Self { most: FRAME, ..self }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let most = self.most;
        Poll::Ready(self.rest.pop(most).map(|frame| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
