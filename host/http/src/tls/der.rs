//! A minimal DER reader for a certificate's dates and subject.

pub(super) const SEQUENCE: u8 = 0x30;

/// Bytes of DER that are still to be read.
pub(super) struct Der<'d>(pub(super) &'d [u8]);

// === impl Der ===

impl<'d> Der<'d> {
    /// The next value with its tag.
    pub(super) fn next(&mut self) -> Option<(u8, &'d [u8])> {
        let (&[tag, length], mut rest) = self.0.split_first_chunk()?;
        let mut size = usize::from(length);
        if length & 0x80 != 0 {
            let (bytes, after) = rest.split_at_checked(usize::from(length & 0x7f))?;
            // No certificate that TLS carries needs more than three bytes of length.
            size = (1..=3).contains(&bytes.len()).then(|| bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b)))?;
            rest = after;
        }
        let (value, rest) = rest.split_at_checked(size)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The next value, if it has this tag.
    pub(super) fn expect(&mut self, expected: u8) -> Option<&'d [u8]> {
        self.next().filter(|(tag, _)| *tag == expected).map(|(_, value)| value)
    }
}
