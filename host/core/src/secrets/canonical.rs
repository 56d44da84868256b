//! A text without the escapes of languages, so that a secret is found however a guest writes its characters.
//!
//! A guest may print a text with the escapes of its language: `\u003c` (Go), `\u00e4` (Python), `\x1b`, `\"`, `%3C`,
//! `&lt;`, once or twice over. Secret and text are both brought into one form, in time proportional to their length.

use std::ops::Range;

use crate::is_unprintable;

/// The number of times escapes are undone: a text may be quoted in a quoted text.
const LEVELS: usize = 2;

/// The letters of escapes, and their characters.
const LETTERS: [(char, char); 8] = [
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('b', '\u{8}'),
    ('f', '\u{c}'),
    ('v', '\u{b}'),
    ('a', '\u{7}'),
    ('e', '\u{1b}'),
];

/// Characters that have a name in XML and HTML.
const ENTITIES: [(&str, char); 5] = [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("quot;", '"'), ("apos;", '\'')];

/// The characters of a text, and the bytes that write each.
pub(super) struct Characters {
    pub(super) chars: Vec<char>,
    spans: Vec<Range<usize>>,
}

// === impl Characters ===

impl Characters {
    /// Those of the text as it is; an unprintable one is a space, as where a text is put on one line.
    pub(super) fn raw(text: &str) -> Self {
        let chars = text.chars().map(printable).collect();
        let spans = text.char_indices().map(|(at, c)| at..at + c.len_utf8()).collect();
        Self { chars, spans }
    }

    /// Those that the text means: escapes undone, and backslashes dropped, since one may be itself or begin an escape.
    pub(super) fn unescaped(text: &str) -> Self {
        let mut characters = (0..LEVELS).fold(Self::raw(text), |characters, _| characters.with_one_level_undone());
        // A form of a web page writes a space like this. A plus sign that was escaped is taken for a space, too.
        characters.chars.iter_mut().filter(|c| **c == '+').for_each(|c| *c = ' ');
        characters
    }

    /// The bytes that write these characters.
    pub(super) fn bytes(&self, range: Range<usize>) -> Range<usize> {
        match self.spans.get(range) {
            Some([first, .., last]) => first.start..last.end,
            Some([only]) => only.clone(),
            _ => 0..0,
        }
    }

    fn with_one_level_undone(&self) -> Self {
        let mut undone =
            Self { chars: Vec::with_capacity(self.chars.len()), spans: Vec::with_capacity(self.chars.len()) };
        let mut at = 0;
        while at < self.chars.len() {
            let rest = &self.chars[at..];
            let backslashes = backslashes(rest);
            let (c, length) = match rest[0] {
                '\\' if backslashes == rest.len() => break,
                '\\' => after_backslash(&rest[backslashes..])
                    .map_or((rest[backslashes], backslashes + 1), |(c, length)| (c, backslashes + length)),
                '%' => percent(rest).unwrap_or(('%', 1)),
                '&' => entity(&rest[1..]).map_or(('&', 1), |(c, length)| (c, length + 1)),
                c => (c, 1),
            };
            undone.chars.push(printable(c));
            undone.spans.push(self.bytes(at..at + length));
            at += length;
        }
        undone
    }
}

fn printable(c: char) -> char {
    if is_unprintable(c) { ' ' } else { c }
}

fn backslashes(chars: &[char]) -> usize {
    chars.iter().take_while(|c| **c == '\\').count()
}

/// The character of an escape and its length, behind its backslash.
fn after_backslash(chars: &[char]) -> Option<(char, usize)> {
    let letter = *chars.first()?;
    match letter {
        'x' | '0'..='7' => bytes(chars),
        'U' => Some((char::from_u32(hex(chars.get(1..9)?)?)?, 9)),
        'u' if chars.get(1) == Some(&'{') => {
            let end = chars.iter().take(10).position(|c| *c == '}')?;
            Some((char::from_u32(hex(chars.get(2..end)?)?)?, end + 1))
        }
        'u' => utf16(chars),
        _ => LETTERS.iter().find(|(own, _)| *own == letter).map(|(_, c)| (*c, 1)),
    }
}

/// A character as its bytes, each of which has a backslash: in UTF-8, or else a byte that is a character by itself.
fn bytes(chars: &[char]) -> Option<(char, usize)> {
    let (first, mut end) = byte(chars)?;
    let single = (char::from(first), end);
    let mut bytes = vec![first];
    while !first.is_ascii() && bytes.len() < 4 {
        let backslashes = backslashes(&chars[end..]);
        let Some((next, length)) = byte(&chars[end + backslashes..]).filter(|_| backslashes > 0) else { break };
        end += backslashes + length;
        bytes.push(next);
        if let Some(c) = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next()) {
            return Some((c, end));
        }
    }
    Some(single)
}

/// `x` and two hexadecimal digits, or up to three octal ones, and their length.
fn byte(chars: &[char]) -> Option<(u8, usize)> {
    let (digits, radix, start) = match chars.first()? {
        'x' => (chars.get(1..3)?, 16, 1),
        _ => (&chars[..chars.iter().take(3).take_while(|c| c.is_digit(8)).count()], 8, 0),
    };
    Some((u8::try_from(number_of(digits, radix)?).ok()?, start + digits.len()))
}

/// `u` and four hexadecimal digits, or two of them that are a pair of surrogates.
fn utf16(chars: &[char]) -> Option<(char, usize)> {
    let unit = |chars: &[char]| hex(chars.get(1..5)?).map(|unit| unit as u16);
    let first = unit(chars)?;
    if let Some(c) = char::from_u32(first.into()) {
        return Some((c, 5));
    }
    let low = 5 + backslashes(&chars[5..]);
    let second = chars.get(low..).filter(|rest| rest.first() == Some(&'u')).and_then(unit)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, low + 5))
}

/// A character as URLs write it: each byte of its UTF-8 with a percent sign.
fn percent(chars: &[char]) -> Option<(char, usize)> {
    let byte = |at: usize| {
        let [sign, digits @ ..] = chars.get(3 * at..3 * at + 3)? else { return None };
        if *sign == '%' { hex(digits).map(|byte| byte as u8) } else { None }
    };
    let bytes: Vec<u8> = (0..4).map_while(byte).collect();
    (1..=bytes.len()).find_map(|count| {
        let c = std::str::from_utf8(&bytes[..count]).ok()?.chars().next()?;
        Some((c, 3 * count))
    })
}

/// A character as XML and HTML write it, behind the ampersand.
fn entity(chars: &[char]) -> Option<(char, usize)> {
    let is_next = |name: &str| chars.len() >= name.len() && name.chars().zip(chars).all(|(own, c)| own == *c);
    if let Some((name, c)) = ENTITIES.iter().find(|(name, _)| is_next(name)) {
        return Some((*c, name.len()));
    }
    let number = chars.strip_prefix(&['#'])?;
    let end = number.iter().take(10).position(|c| *c == ';')?;
    let code = match &number[..end] {
        ['x' | 'X', digits @ ..] => hex(digits)?,
        digits => number_of(digits, 10)?,
    };
    Some((char::from_u32(code)?, end + 2))
}

fn hex(digits: &[char]) -> Option<u32> {
    number_of(digits, 16)
}

fn number_of(digits: &[char], radix: u32) -> Option<u32> {
    let add = |number: u32, digit: &char| number.checked_mul(radix)?.checked_add(digit.to_digit(radix)?);
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(text: &str) -> String {
        Characters::unescaped(text).chars.into_iter().collect()
    }

    #[test]
    fn the_escapes_of_languages_mean_the_same() {
        let expected = "a<ä \"/ 😀 &'b";
        for text in [
            // JSON by different writers.
            r#"a<ä\u001b\"\\/\b😀\n&'b"#,
            r#"a\u003c\u00E4\u001B\"\\\/\u0008\ud83d\ude00\u000a\u0026\u0027b"#,
            // Once more in a text.
            r#"a\\u003c\\u00e4\\u001b\\\"\\\\/\\b\\ud83d\\ude00\\n&'b"#,
            // Rust, C and Python.
            r#"a<ä\u{1b}\"\\/\u{8}😀\n&\'b"#,
            r#"a<\xe4\x1b\"\\/\b\U0001f600\n&'b"#,
            r#"a<\xc3\xa4\x1b\"\\/\x08\xf0\x9f\x98\x80\n&'b"#,
            r"a\074\303\244\33\042\\/\10\360\237\230\200\n&\47b",
            // URLs, XML and HTML; the last one twice over.
            "a%3C%c3%A4%1b%22%5C%2F%08%F0%9F%98%80%0A%26%27b",
            "a&lt;&#228;&#x1b;&quot;\\/&#8;&#x1F600;&#10;&amp;&apos;b",
            "a&amp;lt;&amp;#228;&amp;#x1b;&amp;quot;\\/&amp;#8;😀&amp;#10;&amp;&apos;b",
        ] {
            assert_eq!(meant(text), expected, "{text}");
        }
    }

    #[test]
    fn unfinished_escapes_are_read_as_they_stand() {
        for (text, expected) in [
            ("a\\u3cä", "au3cä"),
            ("a%3", "a%3"),
            ("a%c3b", "a%c3b"),
            ("&#60", "&#60"),
            ("&#;", "&#;"),
            ("\\u{}", "u{}"),
            ("\\ud83d", "ud83d"),
            ("\\xc3", "Ã"),
            ("\\xc3\\xzz", "Ãxzz"),
            ("\\303a", "Ãa"),
            ("\\477", "477"),
            ("\\\\\\", ""),
            ("", ""),
        ] {
            assert_eq!(meant(text), expected, "{text}");
        }
    }

    #[test]
    fn a_plus_sign_may_be_a_space() {
        for text in ["p ss w", "p+ss+w", "p%20ss%2Bw", "p+ss%252Bw"] {
            assert_eq!(meant(text), "p ss w", "{text}");
        }
    }

    /// However a text is cut, nothing panics, and the bytes of a character lie between characters.
    #[test]
    fn no_text_makes_it_panic() {
        let text = "x \\u00e4 \\ud83d\\ude00 \\\\\\u{1b} %c3%a4 &#228; &lt; &amp;#x41; \\xc3\\\\xa4 \\303\\244 ä\\";
        for (start, _) in text.char_indices() {
            for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
                let part = &text[start..end];
                let characters = Characters::unescaped(part);
                for at in 0..characters.chars.len() {
                    assert!(part.get(characters.bytes(at..at + 1)).is_some());
                }
            }
        }
    }
}
