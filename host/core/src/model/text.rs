//! Characters that could forge a text for people: line breaks, colours, and text that runs the other way.

use std::{borrow::Cow, fmt::Write};

/// Maximum characters of a quotation from a file.
const MAX_QUOTED_CHARS: usize = 80;

/// Whether a character does something to a terminal or a log instead of being seen: a control character (C0, DEL or
/// C1), a line or paragraph separator, or one that changes the direction of text.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// The text with each unprintable character as `\u202e`, except those to `keep`. In JSON it means the same.
pub fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    let must_go = |c: char| is_unprintable(c) && !keep(c);
    if !text.contains(must_go) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if must_go(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A text of at most this many bytes, cut between characters.
pub fn bounded(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A part of a file as a message may quote it: on one line, and not long.
pub fn quotable(part: &str) -> Cow<'_, str> {
    match part.char_indices().nth(MAX_QUOTED_CHARS) {
        None => escaped(part, |_| false),
        Some((end, _)) => Cow::Owned(format!("{}…", escaped(&part[..end], |_| false))),
    }
}

/// The text without characters that could forge lines or colours.
pub fn one_line(text: &str) -> Cow<'_, str> {
    // Nearly every text is ASCII, and each rejection of a request has one.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(is_unprintable, " "))
}

/// The text on one line, with an ellipsis where more than this many bytes were cut.
pub fn excerpt(text: &str, bytes: usize) -> String {
    let mut line = one_line(bounded(text, bytes)).into_owned();
    if text.len() > bytes {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_on_one_line() {
        assert_eq!(bounded("aé", 2), "a");
        assert_eq!(bounded("aé", 9), "aé");
        assert_eq!(one_line("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(excerpt("a\nbc", 3), "a b…");
        assert_eq!(excerpt("a\nbc", 4), "a bc");
    }

    #[test]
    fn a_quotation_is_short_and_on_one_line() {
        assert_eq!(quotable("a\nb"), "a\\u000ab");
        assert_eq!(quotable(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(quotable(&"é".repeat(81)), "é".repeat(80) + "…");
    }

    #[test]
    fn what_could_forge_a_line_is_written_as_an_escape() {
        for c in [
            '\0', '\u{1b}', '\n', '\u{7f}', '\u{85}', '\u{9b}', '\u{2028}', '\u{2029}', '\u{202a}', '\u{202e}',
            '\u{2066}', '\u{2069}', '\u{200f}',
        ] {
            let escape = format!("a\\u{:04x}b", u32::from(c));
            assert_eq!(escaped(&format!("a{c}b"), |_| false), escape);
            let json: String = serde_json::from_str(&format!("\"{escape}\"")).unwrap();
            assert_eq!(json, format!("a{c}b"), "JSON says the same");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        let text = "zone a: ä, 日本, \u{200d}, 🚢 \"quoted\" \\";
        assert!(matches!(escaped(text, |_| false), Cow::Borrowed(same) if same == text));
        assert_eq!(escaped("a\nb\u{1b}[0m", |c| c == '\n'), "a\nb\\u001b[0m");
    }
}
