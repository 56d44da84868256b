//! The answer of the compile process on its standard output: a tag, a length, and the payload.

use std::io::{self, Read, Write};

use plimsoll_system::buffer;

use crate::code::MAX_CODE_BYTES;

const CODE: u8 = b'C';
const REFUSED: u8 = b'R';
const SHORT: u8 = b'S';

/// The outcome of a compile.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompileAnswer {
    /// Compiled code.
    Code(Vec<u8>),
    /// The module is invalid, and why.
    Refused(String),
    /// Memory or threads did not suffice.
    Short,
}

// === impl CompileAnswer ===

impl CompileAnswer {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Code(code) => (CODE, code),
            Self::Refused(text) => (REFUSED, text.as_bytes()),
            Self::Short => (SHORT, &[]),
        };
        to.write_all(&[tag])?;
        to.write_all(&(bytes.len() as u64).to_le_bytes())?;
        to.write_all(bytes)?;
        to.flush()
    }

    /// Reads a whole answer; `None` if it is truncated, too large or malformed.
    pub(super) fn read(from: &mut impl Read) -> Option<Self> {
        let (mut tag, mut length) = ([0; 1], [0; 8]);
        from.read_exact(&mut tag).ok()?;
        from.read_exact(&mut length).ok()?;
        let length = usize::try_from(u64::from_le_bytes(length)).ok().filter(|length| *length <= MAX_CODE_BYTES)?;
        let mut bytes = buffer(length);
        from.take(length as u64).read_to_end(&mut bytes).ok()?;
        if bytes.len() != length {
            return None;
        }
        match tag[0] {
            CODE => Some(Self::Code(bytes)),
            REFUSED => String::from_utf8(bytes).ok().map(Self::Refused),
            SHORT => Some(Self::Short),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        for answer in
            [CompileAnswer::Code(vec![1, 2, 3]), CompileAnswer::Refused("no verb".to_owned()), CompileAnswer::Short]
        {
            let mut bytes = Vec::new();
            answer.write(&mut bytes).unwrap();
            assert_eq!(CompileAnswer::read(&mut bytes.as_slice()), Some(answer));
            bytes.pop();
            assert_eq!(CompileAnswer::read(&mut bytes.as_slice()), None);
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_no_answer() {
        let mut bytes = vec![CODE];
        bytes.extend((MAX_CODE_BYTES as u64 + 1).to_le_bytes());
        assert_eq!(CompileAnswer::read(&mut Read::chain(bytes.as_slice(), io::repeat(0))), None);
    }
}
