//! A place in a request: goes on where that is plain, and leaves to serde what is not.

use std::ops::Range;

use serde_json::{Deserializer, value::RawValue};

/// A place in a request's body. None is no verdict: it says that the body must be read by serde.
pub(super) struct Cursor<'b> {
    body: &'b [u8],
    at: usize,
}

// === impl Cursor ===

impl<'b> Cursor<'b> {
    pub(super) fn new(body: &'b [u8]) -> Self {
        Self { body, at: 0 }
    }

    /// How many bytes are behind it.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// What is before it.
    pub(super) fn rest(&self) -> &'b [u8] {
        &self.body[self.at..]
    }

    /// Goes over so many bytes, of those that [`Cursor::rest`] has shown.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Goes over whitespace to the byte that is returned.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.body.get(self.at) {
            self.at += 1;
        }
        self.body.get(self.at).copied()
    }

    /// Goes over this byte, if it is the next one.
    pub(super) fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// The next string, if it has no escapes.
    pub(super) fn text(&mut self) -> Option<&'b str> {
        self.eat(b'"')?;
        let rest = self.rest();
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        // No whitespace is gone over here: a tab within quotes is an error.
        if rest[length] != b'"' {
            return None;
        }
        self.skip(length + 1);
        std::str::from_utf8(&rest[..length]).ok()
    }

    /// Goes over an object; `field` goes over the value of each key.
    pub(super) fn fields(&mut self, mut field: impl FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.eat(b'{')?;
        loop {
            let key = self.text()?;
            self.eat(b':')?;
            field(self, key)?;
            if self.eat(b',').is_none() {
                return self.eat(b'}');
            }
        }
    }

    /// Goes over a null.
    pub(super) fn null(&mut self) -> Option<()> {
        self.peek()?;
        self.rest().starts_with(b"null").then(|| self.skip(4))
    }

    /// The next value, whatever it is.
    pub(super) fn value_text(&mut self) -> Option<&'b [u8]> {
        let body = self.body;
        self.value().map(|place| &body[place])
    }

    /// Where the next value stands, whatever it is.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        let mut values = Deserializer::from_slice(self.rest()).into_iter::<&RawValue>();
        let length = values.next()?.ok()?.get().len();
        self.at += values.byte_offset();
        Some(self.at - length..self.at)
    }
}
