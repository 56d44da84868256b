//! The escapes of JSON strings.

use std::borrow::Cow;

use super::JsonError;

/// The string at the start of `json`, which follows its opening quote, and the length up to its closing quote.
pub(super) fn read(json: &str) -> Result<(Cow<'_, str>, usize), JsonError> {
    let bytes = json.as_bytes();
    let mut decoded = String::new();
    let mut copied = 0;
    let mut at = 0;
    loop {
        let plain = bytes.iter().skip(at).position(|byte| matches!(byte, b'"' | b'\\'));
        at += plain.ok_or_else(|| JsonError::new("a text without an end"))?;
        // Quotes and backslashes are ASCII, so both ends are at characters.
        let piece = json.get(copied..at).unwrap_or_default();
        if bytes.get(at) == Some(&b'"') {
            if copied == 0 {
                return Ok((Cow::Borrowed(piece), at));
            }
            decoded.push_str(piece);
            return Ok((Cow::Owned(decoded), at));
        }
        decoded.push_str(piece);
        let (character, length) = escape(&bytes[at..]).ok_or_else(|| JsonError::new("a text with a broken escape"))?;
        decoded.push(character);
        at += length;
        copied = at;
    }
}

/// The character that an escape stands for, and the escape's length.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let plain = match bytes.get(1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return unicode(bytes),
        byte @ (b'"' | b'\\' | b'/') => *byte as char,
        _ => return None,
    };
    Some((plain, 2))
}

fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let high = hex(bytes.get(2..6)?)?;
    let low = || bytes.get(6..8).filter(|next| *next == b"\\u").and_then(|_| hex(bytes.get(8..12)?));
    if let (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) = (high, low()) {
        let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return Some((char::from_u32(code)?, 12));
    }
    // Half of a pair alone stands for no character.
    Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | (*digit as char).to_digit(16)?))
}
