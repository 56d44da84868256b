//! Replies, and the work that they leave behind: it begins when the server has taken the reply over.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use plimsoll_core::After;
use tokio::{runtime::Handle, sync::Semaphore};

use super::WireObserver;
use crate::memory::MemoryReservation;

/// Runs what replies leave behind, a bounded number at a time.
pub(super) struct PostReplyExecutor {
    /// For guests that are asked: slow ones take all of it.
    asking: Arc<Semaphore>,
    /// For what is learned of answers, which must not wait for them.
    learning: Arc<Semaphore>,
    runtime: Handle,
    observer: Arc<dyn WireObserver>,
}

/// Work of one reply; it starts when this is dropped, and not before.
pub(super) struct PostReplyWork {
    after: Option<After>,
    post_reply: Arc<PostReplyExecutor>,
}

/// The most bytes of a reply that h2 takes over at once, whether its reader has room for them or not.
const FRAME: usize = 64 << 10;

/// The body of a reply.
pub(super) struct ReplyBody {
    pieces: vec::IntoIter<Bytes>,
    /// The most bytes of one frame.
    most: usize,
    _post_reply_work: Option<PostReplyWork>,
    /// Counted as long as a piece is here.
    _reserved: Option<MemoryReservation>,
}

// === impl PostReplyExecutor ===

impl PostReplyExecutor {
    /// Must be called within the runtime that the work is to run on.
    pub(super) fn new(at_once: usize, observer: Arc<dyn WireObserver>) -> Self {
        let room = || Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Self { asking: room(), learning: room(), runtime: Handle::current(), observer }
    }

    /// Keeps the work of a reply until the reply is out.
    pub(super) fn hold(post_reply: &Arc<Self>, after: After) -> Option<PostReplyWork> {
        (!after.is_empty()).then(|| PostReplyWork { after: Some(after), post_reply: Arc::clone(post_reply) })
    }

    fn run(&self, after: After) {
        let (learn, ask) = after.split();
        // Both are begun, whatever becomes of the other.
        let done = [self.start(&self.learning, learn), self.start(&self.asking, ask)];
        if done != [true; 2] {
            tracing::debug!("work after a reply is left undone: too much of it is waiting");
            self.observer.left_undone();
        }
    }

    /// Whether there was room for the work.
    fn start(&self, room: &Arc<Semaphore>, work: After) -> bool {
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

impl Drop for PostReplyWork {
    fn drop(&mut self) {
        if let Some(after) = self.after.take() {
            self.post_reply.run(after);
        }
    }
}

// === impl ReplyBody ===

impl ReplyBody {
    pub(super) fn new(
        pieces: Vec<Bytes>,
        post_reply_work: Option<PostReplyWork>,
        reserved: Option<MemoryReservation>,
    ) -> Self {
        Self { pieces: pieces.into_iter(), most: usize::MAX, _post_reply_work: post_reply_work, _reserved: reserved }
    }

    /// The same for h2, where a stream is in flight until its reader has room for the last frame.
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
        let frame = match self.pieces.as_mut_slice().first_mut() {
            Some(piece) if piece.len() > most => Some(piece.split_to(most)),
            _ => self.pieces.next(),
        };
        Poll::Ready(frame.map(|frame| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.as_slice().is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.pieces.as_slice().iter().map(|piece| piece.len() as u64).sum())
    }
}
