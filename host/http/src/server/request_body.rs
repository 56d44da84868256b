//! The body of a request, as a service reads it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::state::BodyGuard;

/// A body that its connection awaits until this is dropped, and whose bytes it counts.
pub(crate) struct RequestBody {
    body: Incoming,
    awaited: BodyGuard,
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn new(body: Incoming, awaited: BodyGuard) -> Self {
        Self { body, awaited }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.awaited.received(frame.data_ref().map_or(0, Bytes::len));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
