//! A cursor over a request's JSON. It reads the usual forms and gives up (`None`) on all others.

use std::ops::Range;

use serde_json::{Deserializer, value::RawValue};

/// A cursor over a request's body. `None` does not mean invalid: serde must read the body.
pub(super) struct Cursor<'b> {
    body: &'b [u8],
    at: usize,
}

// === impl Cursor ===

impl<'b> Cursor<'b> {
    pub(super) fn new(body: &'b [u8]) -> Self {
        Self { body, at: 0 }
    }

    /// The offset of the cursor.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The bytes after the cursor.
    pub(super) fn rest(&self) -> &'b [u8] {
        &self.body[self.at..]
    }

    /// Skips this many bytes of [`Cursor::rest`].
    pub(super) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Skips whitespace and returns the next byte without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.body.get(self.at) {
            self.at += 1;
        }
        self.body.get(self.at).copied()
    }

    /// Consumes this byte, if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// The next string, if it has no escapes.
    pub(super) fn text(&mut self) -> Option<&'b str> {
        self.eat(b'"')?;
        let rest = self.rest();
        let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        // Whitespace is not skipped here: a tab within quotes is an error.
        if rest[length] != b'"' {
            return None;
        }
        self.skip(length + 1);
        std::str::from_utf8(&rest[..length]).ok()
    }

    /// Reads an object; `field` reads the value of each key.
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

    /// Consumes a null.
    pub(super) fn null(&mut self) -> Option<()> {
        self.peek()?;
        self.rest().starts_with(b"null").then(|| self.skip(4))
    }

    /// The text of the next value of any type.
    pub(super) fn value_text(&mut self) -> Option<&'b [u8]> {
        let body = self.body;
        self.value().map(|place| &body[place])
    }

    /// The range of the next value of any type.
    pub(super) fn value(&mut self) -> Option<Range<usize>> {
        let mut values = Deserializer::from_slice(self.rest()).into_iter::<&RawValue>();
        let length = values.next()?.ok()?.get().len();
        self.at += values.byte_offset();
        Some(self.at - length..self.at)
    }
}
