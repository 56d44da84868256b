//! The bytes of a reply: text, and slices of the request that go back as they came.

use std::collections::VecDeque;

use bytes::Bytes;

/// Minimum length of a slice of the request: a shorter one is copied, since a piece more costs more than its bytes. Most
/// whole nodes are longer.
const MIN_SLICE: usize = 4 << 10;

/// The bytes of a reply as pieces, which are sent one after another.
///
/// A filter returns the whole nodes that it keeps. To copy 40 MB of them takes as long as to decide, most of it for page
/// faults on the new memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyBytes {
    /// Empty only if nothing is left.
    first: Bytes,
    /// None of them is empty. Most replies have one piece, and no list.
    rest: VecDeque<Bytes>,
    /// Whether one of them is a slice of the request.
    has_slices: bool,
}

/// Writes a reply piece by piece.
#[derive(Debug)]
pub(crate) struct ReplyWriter {
    pub(crate) text: Vec<u8>,
    /// Slices of the request, each with the length of the text before it.
    slices: Vec<(usize, Bytes)>,
}

// === impl ReplyWriter ===

impl ReplyWriter {
    /// A reply with at most this many bytes of text.
    pub(crate) fn with_capacity(text: usize) -> Self {
        Self { text: Vec::with_capacity(text), slices: Vec::new() }
    }

    /// The part of these bytes that is copied.
    pub(crate) const fn copied(slice: usize) -> usize {
        if slice < MIN_SLICE { slice } else { 0 }
    }

    /// Adds a slice of the request.
    pub(crate) fn push(&mut self, slice: Bytes) {
        if Self::copied(slice.len()) > 0 {
            self.text.extend_from_slice(&slice);
        } else if !slice.is_empty() {
            self.slices.push((self.text.len(), slice));
        }
    }

    pub(crate) fn finish(self) -> ReplyBytes {
        let mut reply = ReplyBytes { has_slices: !self.slices.is_empty(), ..ReplyBytes::default() };
        let (text, mut start) = (Bytes::from(self.text), 0);
        for (end, slice) in self.slices {
            reply.push(text.slice(start..end));
            reply.push(slice);
            start = end;
        }
        reply.push(text.slice(start..));
        reply
    }
}

// === impl ReplyBytes ===

impl ReplyBytes {
    fn push(&mut self, piece: Bytes) {
        if self.first.is_empty() {
            self.first = piece;
        } else if !piece.is_empty() {
            self.rest.push_back(piece);
        }
    }

    /// Takes the next bytes, at most this many of them; `None` at the end.
    pub(crate) fn pop(&mut self, most: usize) -> Option<Bytes> {
        if self.first.is_empty() {
            return None;
        }
        let next = self.first.split_to(self.first.len().min(most));
        if self.first.is_empty() {
            self.first = self.rest.pop_front().unwrap_or_default();
        }
        Some(next)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.first.len() + self.rest.iter().map(Bytes::len).sum::<usize>()
    }

    /// Bytes of memory that it holds, if the request has this many: the whole request for a slice of it.
    pub(crate) fn held_bytes(&self, request: usize) -> usize {
        if self.has_slices { self.len() + request } else { self.len() }
    }

    /// All bytes in one piece.
    pub(crate) fn in_one_piece(mut self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        let mut whole = Vec::with_capacity(self.len());
        while let Some(piece) = self.pop(usize::MAX) {
            whole.extend_from_slice(&piece);
        }
        whole.into()
    }
}

impl From<Bytes> for ReplyBytes {
    fn from(first: Bytes) -> Self {
        Self { first, ..Self::default() }
    }
}

impl From<Vec<u8>> for ReplyBytes {
    fn from(text: Vec<u8>) -> Self {
        Bytes::from(text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_slices_of_the_request_are_not_copied() {
        let request = Bytes::from(vec![b'r'; 3 * MIN_SLICE]);
        let mut writer = ReplyWriter::with_capacity(0);
        writer.push(request.slice(..MIN_SLICE));
        writer.text.extend_from_slice(b"between");
        writer.push(request.slice(MIN_SLICE..MIN_SLICE + 10));
        writer.push(request.slice(MIN_SLICE..));
        let mut reply = writer.finish();
        assert_eq!((reply.len(), reply.held_bytes(request.len())), (3 * MIN_SLICE + 17, 6 * MIN_SLICE + 17));
        let pieces: Vec<Bytes> = std::iter::from_fn(|| reply.pop(usize::MAX)).collect();
        assert_eq!(pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [MIN_SLICE, 17, 2 * MIN_SLICE]);
        assert_eq!([pieces[0].as_ptr(), pieces[2].as_ptr()], [0, MIN_SLICE].map(|at| request[at..].as_ptr()));
    }

    #[test]
    fn pieces_and_frames_of_any_size_make_the_same_bytes() {
        let request = Bytes::from((0..2 * MIN_SLICE).map(|at| at as u8).collect::<Vec<_>>());
        let mut writer = ReplyWriter::with_capacity(0);
        for text in ["a", "", "b"] {
            writer.text.extend_from_slice(text.as_bytes());
            writer.push(request.clone());
            writer.push(Bytes::new());
        }
        let reply = writer.finish();
        let expected = [b"a", &request[..], &request, b"b", &request].concat();
        assert_eq!(reply.clone().in_one_piece(), expected);
        for most in [1000, MIN_SLICE, usize::MAX] {
            let (mut reply, mut sent) = (reply.clone(), Vec::new());
            while let Some(frame) = reply.pop(most) {
                assert!(!frame.is_empty() && frame.len() <= most);
                sent.extend_from_slice(&frame);
                assert_eq!(reply.len(), expected.len() - sent.len());
            }
            assert!(sent == expected && reply.is_empty(), "{most}");
        }
    }

    #[test]
    fn a_reply_without_slices_holds_its_text_alone() {
        let mut writer = ReplyWriter::with_capacity(0);
        writer.push(Bytes::from_static(b"short"));
        let reply = writer.finish();
        assert_eq!((reply.held_bytes(1 << 20), reply.in_one_piece()), (5, Bytes::from_static(b"short")));
        assert!(ReplyBytes::from(Vec::new()).is_empty());
    }
}
