//! A reply as pieces: what we write, and slices of the request that go back as they came.

use std::ops::Range;

use bytes::Bytes;

/// Shorter parts are copied: one more piece would cost more than copying its bytes.
const WORTH_A_PIECE: usize = 16 << 10;

/// Pieces in order: a text, and slices to insert at offsets of it.
pub(super) struct Pieces {
    pub(super) text: Vec<u8>,
    slices: Vec<(usize, Bytes)>,
}

// === impl Pieces ===

impl Pieces {
    pub(super) fn with_capacity(text: usize) -> Self {
        Self { text: Vec::with_capacity(text), slices: Vec::new() }
    }

    /// Adds a part of the request, without a copy if it is long.
    pub(super) fn push(&mut self, source: &Bytes, part: Range<usize>) {
        if is_copied(&part) {
            self.text.extend_from_slice(&source[part]);
        } else {
            self.slices.push((self.text.len(), source.slice(part)));
        }
    }

    /// All pieces; none is empty.
    pub(super) fn finish(self) -> Vec<Bytes> {
        let (text, mut start) = (Bytes::from(self.text), 0);
        let mut pieces = Vec::with_capacity(2 * self.slices.len() + 1);
        for (end, slice) in self.slices {
            pieces.extend([text.slice(start..end), slice]);
            start = end;
        }
        pieces.push(text.slice(start..));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }
}

/// Whether a part of the request is copied.
pub(super) fn is_copied(part: &Range<usize>) -> bool {
    part.len() < WORTH_A_PIECE
}
