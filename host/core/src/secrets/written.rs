//! Finds a secret in a text, however the text writes its characters.
//!
//! A guest may print what it was given with the escapes of its language: `\u003c` (Go), `\u00e4` (Python), `\x1b`,
//! `\"`, `%3C`, `&lt;`, once or twice over. So characters are compared, not bytes.

use std::ops::Range;

use crate::is_unprintable;

/// This many bytes of a secret's beginning are enough to hide what they begin: a text may have been cut.
const BEGINNING: usize = 12;

/// Backslashes before one escape: three levels of quotes make seven.
const MAX_BACKSLASHES: usize = 8;

/// What an escape begins with.
const ESCAPES: [char; 3] = ['\\', '%', '&'];

/// The letters of escapes, and their characters.
const LETTERS: [(char, char); 9] = [
    ('n', '\n'),
    ('r', '\r'),
    ('t', '\t'),
    ('b', '\u{8}'),
    ('f', '\u{c}'),
    ('v', '\u{b}'),
    ('a', '\u{7}'),
    ('e', '\u{1b}'),
    ('0', '\0'),
];

/// Characters that have a name in XML and HTML.
const ENTITIES: [(&str, char); 5] = [("lt;", '<'), ("gt;", '>'), ("amp;", '&'), ("quot;", '"'), ("apos;", '\'')];

/// Where a text has a secret, or enough of its beginning; a short secret counts only as a word of its own.
pub(super) fn spots<'a>(secret: &'a str, text: &'a str, is_word: bool) -> impl Iterator<Item = Range<usize>> + 'a {
    let beginning = &secret[..secret.floor_char_boundary(BEGINNING)];
    // Most texts have no escapes: there the library's search is enough.
    let is_plain = !text.contains(ESCAPES) && !beginning.contains(is_unprintable);
    let start = move |text: &str| if is_plain { text.find(beginning) } else { start_in(secret, text) };
    let mut from = 0_usize;
    std::iter::from_fn(move || {
        while let Some(at) = from.checked_add(start(text.get(from..)?)?) {
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            if let Some(end) = end_of(secret, &text[at..]).map(|length| at + length)
                && (!is_word || is_whole(secret, text, at, end))
            {
                return Some(at..end);
            }
        }
        None
    })
}

/// The next place at which the first character of a secret can stand: as it is, or at the beginning of an escape.
fn start_in(secret: &str, text: &str) -> Option<usize> {
    let first = secret.chars().next()?;
    text.find(|c: char| c == first || ESCAPES.contains(&c) || c == ' ' && is_unprintable(first))
}

/// The length of what a text begins with, if that is a secret or enough of its beginning.
fn end_of(secret: &str, text: &str) -> Option<usize> {
    // A backslash may be itself or begin an escape, so there can be several readings; each ends somewhere else.
    let (mut readings, mut longest) = (vec![0], None);
    for (at, c) in secret.char_indices() {
        let mut next = Vec::with_capacity(readings.len());
        for reading in readings {
            each_writing(c, &text[reading..], |length| {
                if !next.contains(&(reading + length)) {
                    next.push(reading + length);
                }
            });
        }
        if next.is_empty() {
            return longest;
        }
        if at + c.len_utf8() >= BEGINNING.min(secret.len()) {
            longest = next.iter().max().copied();
        }
        readings = next;
    }
    longest
}

/// Tells the length of each way in which a text can begin with a character.
fn each_writing(c: char, text: &str, mut tell: impl FnMut(usize)) {
    if text.starts_with(c) {
        tell(c.len_utf8());
    }
    if text.starts_with(' ') && is_unprintable(c) {
        tell(1);
    }
    match text.bytes().next() {
        Some(b'\\') => {
            let backslashes = text.bytes().take(MAX_BACKSLASHES).take_while(|byte| *byte == b'\\').count();
            if c == '\\' {
                (2..=backslashes).for_each(&mut tell);
            }
            if let Some(length) = after_backslash(c, &text[backslashes..]) {
                tell(backslashes + length);
            }
        }
        Some(b'%') => {
            if let Some(length) = percent(c, text) {
                tell(length);
            }
        }
        Some(b'&') => {
            if let Some(length) = entity(c, &text[1..]) {
                tell(1 + length);
            }
        }
        _ => {}
    }
}

/// The length of an escape of a character, behind its backslash.
fn after_backslash(c: char, text: &str) -> Option<usize> {
    let letter = text.chars().next()?;
    if letter == c && c.is_ascii_punctuation() || LETTERS.contains(&(letter, c)) {
        return Some(letter.len_utf8());
    }
    let code = u32::from(c);
    match letter {
        'x' => (hex(text.get(1..3)?)? == code).then_some(3),
        'U' => (hex(text.get(1..9)?)? == code).then_some(9),
        'u' if text[1..].starts_with('{') => {
            let end = text.bytes().take(10).position(|byte| byte == b'}')?;
            (hex(&text[2..end])? == code).then_some(end + 1)
        }
        'u' => {
            let unit = hex(text.get(1..5)?)?;
            let mut units = [0; 2];
            match c.encode_utf16(&mut units) {
                [one] => (u32::from(*one) == unit).then_some(5),
                [high, low] if u32::from(*high) == unit => {
                    let rest = text[5..].trim_start_matches('\\');
                    let before = text.len() - rest.len();
                    let is_low = rest.starts_with('u') && hex(rest.get(1..5)?)? == u32::from(*low);
                    is_low.then_some(before + 5)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The length of a character as URLs write it: each byte of its UTF-8 with a percent sign.
fn percent(c: char, text: &str) -> Option<usize> {
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).as_bytes();
    let is_byte = |(at, byte): (usize, &u8)| {
        text.get(3 * at..3 * at + 3).and_then(|part| hex(part.strip_prefix('%')?)) == Some(u32::from(*byte))
    };
    bytes.iter().enumerate().all(is_byte).then_some(3 * bytes.len())
}

/// The length of a character as XML and HTML write it, behind the ampersand.
fn entity(c: char, text: &str) -> Option<usize> {
    if let Some((name, _)) = ENTITIES.iter().find(|(name, named)| *named == c && text.starts_with(name)) {
        return Some(name.len());
    }
    let number = text.strip_prefix('#')?;
    let end = number.bytes().take(10).position(|byte| byte == b';')?;
    let code = match number[..end].strip_prefix(['x', 'X']) {
        Some(digits) => hex(digits)?,
        None => number[..end].parse().ok()?,
    };
    (code == u32::from(c)).then_some(end + 2)
}

fn hex(digits: &str) -> Option<u32> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// Whether a spot is no part of a longer word.
fn is_whole(secret: &str, text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let joins = |own: Option<char>, neighbour: Option<char>| is_word(own) && is_word(neighbour);
    let before = &text[..start];
    (ends_with_escape(before) || !joins(secret.chars().next(), before.chars().next_back()))
        && !joins(secret.chars().next_back(), text[end..].chars().next())
}

/// Whether a text ends with an escape of one character, whose last letter belongs to no word.
fn ends_with_escape(text: &str) -> bool {
    let is_escape = |(backslash, rest): (&str, &str)| {
        let mut chars = rest.chars();
        let is_letter = matches!((chars.next(), chars.next()), (Some(letter), None) if LETTERS.iter().any(|(known, _)| *known == letter));
        let is_code = |letter, digits| {
            rest.strip_prefix(letter).is_some_and(|code: &str| code.len() == digits && hex(code).is_some())
        };
        backslash.ends_with('\\') && (is_letter || is_code('u', 4) || is_code('x', 2))
            || backslash.ends_with('%') && rest.len() == 2 && hex(rest).is_some()
    };
    [1, 2, 3, 5].into_iter().filter_map(|length| text.split_at_checked(text.len().checked_sub(length)?)).any(is_escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(secret: &str, text: &str) -> Vec<String> {
        spots(secret, text, false).map(|spot| text[spot].to_owned()).collect()
    }

    #[test]
    fn each_way_of_writing_a_character_is_known() {
        let secret = "a<ä\u{1b}\"\\/\u{8}😀\n&'b";
        for text in [
            // Itself, and on one line.
            secret,
            "a<ä \"\\/ 😀 &'b",
            // JSON, as serde, Go and Python write it.
            r#"a<ä\u001b\"\\/\b😀\n&'b"#,
            r#"a\u003cä\u001b\"\\/\b😀\n\u0026'b"#,
            r#"a<\u00e4\u001b\"\\/\b\ud83d\ude00\n&'b"#,
            r#"a<\u00E4\u001B\"\\\/\b\uD83D\uDE00\n&'b"#,
            // JSON within JSON.
            r#"a\\u003c\\u00e4\\u001b\\\"\\\\/\\b\\ud83d\\ude00\\n&'b"#,
            // Rust, C and Python.
            r#"a<ä\u{1b}\"\\/\u{8}😀\n&\'b"#,
            r#"a<\xe4\x1b\"\\/\b\U0001f600\n&'b"#,
            // URLs, XML and HTML.
            "a%3C%c3%A4%1b%22%5C%2F%08%F0%9F%98%80%0A%26%27b",
            "a&lt;&#228;&#x1b;&quot;\\/&#8;&#x1F600;&#10;&amp;&apos;b",
        ] {
            assert_eq!(found(secret, &format!("x {text} y")), [text], "{text}");
        }
    }

    #[test]
    fn other_characters_are_not_taken_for_those_of_a_secret() {
        let secret = "a<ä";
        for text in
            ["a\\u003dä", "a\\u3cä", "a%3Dä", "a&gt;ä", "a\\ä", "a<\\u00e", "a<%c3", "a&#60ä", "a&#;ä", "a\\u{}ä"]
        {
            assert_eq!(found(secret, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_backslash_may_be_itself_or_begin_an_escape() {
        for (secret, text) in
            [("\\\\n", "\\\\n"), ("\\n", "\\\\n"), ("\\n", "\\n"), ("a\\\\\\b", "a\\\\\\b"), ("\n", "\\\\n")]
        {
            assert_eq!(found(secret, text).first().map(String::as_str), Some(text), "{secret:?} in {text:?}");
        }
    }

    #[test]
    fn a_short_secret_counts_as_a_word_of_its_own() {
        let words = |secret, text| spots(secret, text, true).count();
        assert_eq!(words("ab", "ab, 'ab' and \\nab: \"ab\" but cab, abc and a_ab"), 4);
        assert_eq!(words("ab", "\\u003cab\\x0aab%0Aab\\\\nab"), 4);
        assert_eq!(words("ab", "\\uab 5003cab 0Aab nab"), 0);
        assert_eq!(words("!a", "x!a"), 1);
        assert_eq!(words("hunter2", "password hunter2 is not hunter22"), 1);
    }

    /// However a text is cut, nothing panics, and a spot lies between characters.
    #[test]
    fn no_text_makes_it_panic() {
        let text = "x \\u00e4 \\ud83d\\ude00 \\\\\\u{1b} %c3%a4 &#228; &lt; ä\\";
        for secret in ["ä", "😀", "\\", "%", "&", "\u{1b}", "ä ", "a"] {
            for (start, _) in text.char_indices() {
                for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
                    for spot in spots(secret, &text[start..end], false) {
                        assert!(text[start..end].get(spot).is_some());
                    }
                }
            }
        }
    }
}
