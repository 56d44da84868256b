//! What is wrong with a rule, and where.

use std::fmt;

/// An error in one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A JSON pointer into the block `cel`.
    pub(crate) pointer: String,
    /// From 1, within the expression.
    pub(crate) line: usize,
    /// From 1, in characters.
    pub(crate) column: usize,
    /// What was found, what was expected, and how to mend it.
    pub(crate) text: String,
}

// === impl Problem ===

impl Problem {
    /// An error about a value as a whole.
    pub(crate) fn at_start(pointer: &str, text: impl Into<String>) -> Self {
        Self { pointer: pointer.to_owned(), line: 1, column: 1, text: text.into() }
    }
}

impl fmt::Display for Problem {
    /// `cel: POINTER:LINE:COLUMN: TEXT`, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, line, column, text } = self;
        write!(f, "cel: {pointer}:{line}:{column}: {}", text.replace(char::is_control, " "))
    }
}

/// `; did you mean …?`, if one of the names is close to what was written.
pub(crate) fn suggestion<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let close = names
        .into_iter()
        .map(|name| (distance(&written.to_ascii_lowercase(), &name.to_ascii_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min();
    close.map_or_else(String::new, |(_, name)| format!("; did you mean `{name}`?"))
}

/// Levenshtein's distance.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in other.bytes().enumerate() {
            let replaced = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_close_name_is_suggested() {
        let names = ["labels", "annotations", "name"];
        assert_eq!(suggestion("label", names), "; did you mean `labels`?");
        assert_eq!(suggestion("anotations", names), "; did you mean `annotations`?");
        assert_eq!(suggestion("Name", names), "; did you mean `name`?");
        assert_eq!(suggestion("gpu", names), "");
    }
}
