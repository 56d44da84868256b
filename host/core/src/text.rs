//! Characters that could forge what people see: line breaks, colours, and text that runs the other way.

use std::{borrow::Cow, fmt::Write};

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

#[cfg(test)]
mod tests {
    use super::*;

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
