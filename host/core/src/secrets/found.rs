//! Finds secrets in a text: by every run of a few characters that a secret has.
//!
//! A text may have been cut, so that a part of a secret must do; and a text is looked at once, however many secrets
//! there are.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use super::canonical::Characters;

/// A shorter text is no secret to anybody, and would be found everywhere.
pub(super) const SHORTEST: usize = 2;

/// This many characters in a row that a secret has are hidden.
const WINDOW: usize = 12;

/// A run of characters; a shorter one ends with NULs, which no text has once its unprintable characters are spaces.
type Window = [char; WINDOW];

/// The runs of characters that are hidden.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// By their lengths: those of [`WINDOW`] characters are parts of secrets, shorter ones are whole secrets.
    by_length: BTreeMap<usize, HashSet<Window>>,
}

// === impl Windows ===

impl Windows {
    /// Those of the secrets; `None` if one of them cannot be searched for, because it has hardly more than backslashes.
    pub(super) fn of(secrets: &[String]) -> Option<Self> {
        let mut windows = Self::default();
        for secret in secrets {
            for characters in [Characters::raw(secret), Characters::unescaped(secret)] {
                if characters.chars.len() < SHORTEST {
                    return None;
                }
                let length = characters.chars.len().min(WINDOW);
                windows.by_length.entry(length).or_default().extend(characters.chars.windows(length).map(window));
            }
        }
        Some(windows)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_length.is_empty()
    }

    /// The bytes of a text that are secret, in order; those of a secret with fewer than `anywhere` characters count only
    /// as a whole word.
    pub(super) fn spots(&self, text: &str, anywhere: usize) -> Vec<Range<usize>> {
        if self.is_empty() {
            return vec![];
        }
        let mut spots = vec![];
        for characters in [Characters::raw(text), Characters::unescaped(text)] {
            for (length, known) in &self.by_length {
                for (at, run) in characters.chars.windows(*length).enumerate() {
                    let spot = at..at + length;
                    if known.contains(&window(run)) && (*length >= anywhere || is_whole(&characters.chars, &spot)) {
                        spots.push(characters.bytes(spot));
                    }
                }
            }
        }
        spots.sort_unstable_by_key(|spot| (spot.start, spot.end));
        spots.dedup();
        spots
    }
}

fn window(run: &[char]) -> Window {
    let mut window = ['\0'; WINDOW];
    window[..run.len()].copy_from_slice(run);
    window
}

/// Whether a spot is no part of a longer word.
fn is_whole(chars: &[char], spot: &Range<usize>) -> bool {
    let is_word = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let joins = |own: usize, neighbour: Option<usize>| is_word(Some(own)) && is_word(neighbour);
    !joins(spot.start, spot.start.checked_sub(1)) && !joins(spot.end - 1, Some(spot.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(secret: &str, text: &'t str, anywhere: usize) -> Vec<&'t str> {
        let windows = Windows::of(&[secret.to_owned()]).unwrap();
        windows.spots(text, anywhere).into_iter().map(|spot| &text[spot]).collect()
    }

    #[test]
    fn a_secret_is_found_however_it_is_written() {
        let secret = "a<\u{e4}\u{1b}\"\\/";
        for text in [
            secret,
            "a<\u{e4} \"\\/",
            r#"a\u003c\u00e4\u001b\"\\/"#,
            "a%3C%c3%A4%1b%22%5C/",
            "a&lt;&#228;&#x1b;&quot;\\/",
        ] {
            assert!(found(secret, &format!("x {text} y"), 0).contains(&text), "{text}");
        }
        for text in ["a\\u003d\u{e4}\u{1b}\"\\/", "a\\u3c\u{e4}\u{1b}\"\\/", "a<\u{e4}\u{1b}\"/x"] {
            let secret = "a<\u{e4}\u{1b}\"/y";
            assert_eq!(found(secret, text, 0), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_short_secret_counts_as_a_word_of_its_own() {
        let words = |secret, text| Windows::of(&[str::to_owned(secret)]).unwrap().spots(text, 9).len();
        assert_eq!(words("ab", "ab, 'ab' and \\nab: \"ab\" but cab, abc and a_ab"), 4);
        assert_eq!(words("ab", "\\u003cab\\x0aab%0Aab\\\\nab"), 4);
        assert_eq!(words("ab", "\\uab 5003cab 0Aab nab"), 0);
        assert_eq!(words("!a", "x!a"), 1);
        assert_eq!(words("hunter2", "password hunter2 is not hunter22"), 1);
    }

    #[test]
    fn a_part_of_a_long_secret_is_hidden_wherever_it_was_cut() {
        let secret = "0123456789abcdefghij";
        assert_eq!(found(secret, "x 456789abcdef y", 9), ["456789abcdef"]);
        assert_eq!(found(secret, "x 456789abcde y", 9), [""; 0]);
    }
}
