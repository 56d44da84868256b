//! Texts as YAML writes them.

use std::{borrow::Cow, fmt::Write as _};

/// The text as a YAML scalar inside `{...}`: as it is where YAML reads it back as this text, else in double quotes.
pub(crate) fn scalar(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// The text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Writing to a String cannot fail.
            c if plimsoll_core::is_unprintable(c) => drop(write!(quoted, "\\U{:08x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn is_plain(text: &str) -> bool {
    let is_safe = |c: char| !matches!(c, ',' | '[' | ']' | '{' | '}') && !plimsoll_core::is_unprintable(c);
    let begins_well = |c: char| c.is_alphabetic() || matches!(c, '/' | '_' | '.' | '+');
    text.chars().next().is_some_and(begins_well)
        && text.chars().all(is_safe)
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && !is_other_type(text)
}

/// Whether YAML, old or new, reads the word as something other than a text.
fn is_other_type(text: &str) -> bool {
    const WORDS: [&str; 13] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan", "+.inf", "inf"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || text.parse::<f64>().is_ok()
        || text.starts_with(['.', '+']) && text[1..].starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_reads_back_the_text_that_was_written() {
        let texts = [
            "node is full",
            "",
            " ",
            "a: b",
            "a:b",
            "a #b",
            "a#b",
            "no",
            "No",
            "~",
            "1",
            "1e3",
            ".5",
            "+1",
            "0x1f",
            "1_000",
            "2026-01-31",
            "-",
            "- a",
            "?",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "'a'",
            "\"a\"",
            "a, b",
            "[a]",
            "{a}",
            "a\nb",
            "a\tb",
            "a\\b",
            "\u{1b}[31m",
            "\u{202e}a",
            "\u{85}",
            "é😀",
            "nan",
            "infinity",
            "null",
            "the node's list",
            "trailing:",
            "a ",
        ];
        for text in texts {
            let yaml = format!("x: {{a: {}, b: [{}]}}", scalar(text), scalar(text));
            let read: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap_or_else(|e| panic!("{yaml}: {e}"));
            assert_eq!(read, serde_json::json!({"x": {"a": text, "b": [text]}}), "{yaml}");
        }
    }
}
