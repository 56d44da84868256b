//! Reads the next token of a JSON text.

use std::borrow::Cow;

use serde::de::{Expected, Visitor};

use super::{
    JsonError,
    error::{NULL, text_found},
    text,
};

/// Maximum depth of lists and maps within each other.
const DEEPEST: usize = 64;

/// Reads a JSON text from left to right.
pub(super) struct Parser<'de> {
    json: &'de str,
    at: usize,
    depth: usize,
}

// === impl Parser ===

impl<'de> Parser<'de> {
    pub(super) fn new(json: &'de str) -> Self {
        Self { json, at: 0, depth: 0 }
    }

    /// Checks that nothing follows.
    pub(super) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(JsonError::new("there is more than one value")),
        }
    }

    /// The next byte that is no white space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = self.json.as_bytes().get(self.at..)?;
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.json.as_bytes().get(self.at).copied()
    }

    /// Takes one byte of punctuation if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes a word (`null`, `true`, a number) if one is next.
    pub(super) fn word(&mut self) -> &'de str {
        self.peek();
        let rest = self.json.get(self.at..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = rest.bytes().take_while(is_part).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let start = self.at;
        let found = self.word() == word;
        if !found {
            self.at = start;
        }
        found
    }

    pub(super) fn text(&mut self, expected: &dyn Expected) -> Result<Cow<'de, str>, JsonError> {
        if !self.take(b'"') {
            return Err(self.unexpected(expected));
        }
        let (text, length) = text::read(self.json.get(self.at..).unwrap_or_default())?;
        self.at += length + 1;
        Ok(text)
    }

    /// The error for a token that was not expected.
    #[cold]
    pub(super) fn unexpected(&mut self, expected: &dyn Expected) -> JsonError {
        let found = match self.peek() {
            Some(b'{') => "a map",
            Some(b'[') => "a list",
            Some(b'"') => {
                let start = self.at;
                self.skip().ok();
                &text_found(self.json.get(start..self.at).unwrap_or_default())
            }
            Some(b'n') => NULL,
            Some(_) => self.word(),
            None => "nothing",
        };
        JsonError::expected(expected, found)
    }

    pub(super) fn number_is_next(&mut self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
    }

    /// Whether the next word has no fraction and no exponent.
    pub(super) fn integer_is_next(&mut self) -> bool {
        let start = self.at;
        let is_integer = self.word().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        self.at = start;
        is_integer
    }

    pub(super) fn integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonError> {
        let start = self.at;
        let word = self.word();
        if let Ok(number) = word.parse::<u64>() {
            visitor.visit_u64(number)
        } else if let Ok(number) = word.parse::<i64>() {
            visitor.visit_i64(number)
        } else {
            self.at = start;
            Err(self.unexpected(&visitor))
        }
    }

    pub(super) fn float<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, JsonError> {
        let start = self.at;
        match self.word().parse::<f64>() {
            Ok(number) if number.is_finite() => visitor.visit_f64(number),
            _ => {
                self.at = start;
                Err(self.unexpected(&visitor))
            }
        }
    }

    /// Begins a list or a map.
    pub(super) fn enter(&mut self) -> Result<(), JsonError> {
        if self.depth == DEEPEST {
            return Err(JsonError::new("lists and maps lie too deep within each other"));
        }
        self.depth += 1;
        Ok(())
    }

    /// Ends the last list or map that has begun.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Skips one value of any kind; the host's JSON is well formed, so its inner text is not checked.
    pub(super) fn skip(&mut self) -> Result<(), JsonError> {
        let mut open = 0;
        loop {
            match self.peek() {
                Some(b'"') => drop(self.text(&"text")?),
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                    continue;
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(b',' | b':') if open > 0 => {
                    self.at += 1;
                    continue;
                }
                _ if self.word().is_empty() => return Err(JsonError::new("a value is missing")),
                _ => {}
            }
            if open == 0 {
                return Ok(());
            }
        }
    }
}
