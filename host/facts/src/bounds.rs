//! Limits of one fetch.

/// Maximum bytes of an answer: the samples of 30,000 nodes.
pub(crate) const MAX_BODY: usize = 4 << 20;

/// Maximum redirects of one fetch.
pub(crate) const MAX_REDIRECTS: usize = 3;

/// Maximum frames of an answer: chunks, or reads of a body without them. Chunks of one byte would take a processor for
/// the whole time of a fetch.
pub(crate) const MAX_FRAMES: usize = 1 << 16;
