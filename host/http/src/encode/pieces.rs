//! A reply as pieces: what we write, and slices of the request that go back as they came.

use bytes::Bytes;

/// A shorter slice is copied: one piece more would cost more than its bytes.
const WORTH_A_PIECE: usize = 16 << 10;

/// Pieces in order; text is written to the last of them.
pub(super) struct Pieces {
    done: Vec<Bytes>,
    pub(super) text: Vec<u8>,
}

// === impl Pieces ===

impl Pieces {
    pub(super) fn with_capacity(text: usize) -> Self {
        Self { done: Vec::new(), text: Vec::with_capacity(text) }
    }

    /// Adds a slice of the request, without a copy if it is long.
    pub(super) fn push(&mut self, slice: Bytes) {
        if slice.len() < WORTH_A_PIECE {
            self.text.extend_from_slice(&slice);
            return;
        }
        if !self.text.is_empty() {
            self.done.push(std::mem::take(&mut self.text).into());
        }
        self.done.push(slice);
    }

    /// All pieces.
    pub(super) fn finish(mut self) -> Vec<Bytes> {
        if !self.text.is_empty() {
            self.done.push(self.text.into());
        }
        self.done
    }
}
