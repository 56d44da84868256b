//! The lines of an endless response, and the whole of one that ends.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;

use super::failure::WatchFailure;
use crate::clock::timeout;

/// The longest line: etcd refuses an object of more than 1.5 MB, and its text may be a few times that.
const MAX_LINE: usize = 16 << 20;

/// The largest page of a list: a page is all of the JSON that is held at once, and 500 pods of 20 kB have 10 MB.
const MAX_PAGE: usize = 32 << 20;

/// The bytes that are kept of a page that is too large: the metadata of the list, and that of its first object.
const BEGINNING: usize = 1 << 20;

/// Splits a response into lines, each within a time.
pub(super) struct LineReader {
    body: Body,
    received: BytesMut,
    /// Bytes that were already searched for a line end.
    searched: usize,
    silence: Duration,
}

// === impl LineReader ===

impl LineReader {
    /// With `silence`, the longest time that nothing may come.
    pub(super) fn new(body: Body, silence: Duration) -> Self {
        Self { body, received: BytesMut::new(), searched: 0, silence }
    }

    /// The next line; `None` once the response has ended. The future may be dropped while it waits.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WatchFailure> {
        loop {
            if let Some(at) = self.received[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.received.split_to(self.searched + at).freeze();
                self.received.advance(1);
                self.searched = 0;
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.received.len();
            if self.searched > MAX_LINE {
                return Err(WatchFailure::Malformed(format!("an event has more than {MAX_LINE} bytes")));
            }
            let frame =
                timeout(self.silence, self.body.frame()).await.map_err(|_| WatchFailure::Silent(self.silence))?;
            match frame {
                // The text after the last line end was cut off.
                None => return Ok(None),
                Some(Err(error)) => return Err(WatchFailure::broken(&error)),
                Some(Ok(frame)) => self.received.extend(frame.into_data().ok()),
            }
        }
    }
}

/// The whole of a response, in which nothing may be silent for too long.
pub(super) async fn collect(mut body: Body, silence: Duration) -> Result<Bytes, WatchFailure> {
    let mut whole = BytesMut::new();
    loop {
        let frame = timeout(silence, body.frame()).await.map_err(|_| WatchFailure::Silent(silence))?;
        match frame {
            None => return Ok(whole.freeze()),
            Some(Err(error)) => return Err(WatchFailure::broken(&error)),
            Some(Ok(frame)) => whole.extend(frame.into_data().ok()),
        }
        if whole.len() > MAX_PAGE {
            // A copy: a part would keep the whole.
            let beginning = Bytes::copy_from_slice(&whole[..BEGINNING.min(whole.len())]);
            return Err(WatchFailure::TooLarge { most: MAX_PAGE, beginning });
        }
    }
}
