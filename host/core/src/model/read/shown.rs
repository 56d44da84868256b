//! Values as people and programs are shown them, after the request that they were read in.

use std::fmt;

use plimsoll_decision_cache::HeapSize;

use super::{Grouping, Read, ReadError, Value};
use crate::model::{Real, Taint};

/// The most characters of a text that a line for people has.
const LINE: usize = 120;

/// Maximum items of a list that a line for people has: a policy that compares nodes reads a value of each.
const MAX_ITEMS: usize = 20;

/// The result of a read, kept for an explanation or a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// There is none.
    Absent,
    /// Yes or no.
    Flag(bool),
    /// A count, quantity, priority, size or time.
    Number(i64),
    /// A number with a fraction.
    Real(Real),
    /// A text; of a long one the beginning.
    Text(Box<str>),
    /// Texts, numbers or taints.
    List(Box<[Shown]>),
    /// The number of nodes, and the values of their label.
    Grouping(usize, Box<[Shown]>),
    /// No value, but a remark about it.
    Note(Box<str>),
}

// === impl Shown ===

impl Shown {
    /// The most characters of a text in an explanation.
    pub(crate) const FULL: usize = 4_096;

    /// The most characters of a text that is kept with remembered answers.
    pub(crate) const SHORT: usize = LINE;

    /// A value; texts are cut to this many characters.
    pub(crate) fn of(value: &Value<'_>, longest: usize) -> Self {
        let text = |text: &str| Self::text(text, longest);
        match value {
            Value::Absent => Self::Absent,
            Value::Number(number) => Self::Number(*number),
            Value::Real(real) => Self::Real(*real),
            Value::Text(own) => text(own),
            Value::Texts(texts) => Self::List(texts.iter().map(|value| text(value)).collect()),
            Value::Counts(counts) => Self::List(counts.iter().map(|count| Self::Number(i64::from(*count))).collect()),
            Value::Indices(all) => Self::List(all.iter().map(|index| Self::Number(i64::from(*index))).collect()),
            Value::Grouping(Grouping { values, groups }) => {
                Self::Grouping(groups.len(), values.iter().map(|value| text(value)).collect())
            }
            Value::LabelValues(values) => {
                Self::List(values.iter().map(|(value, nodes)| text(&format!("{value}: {nodes}"))).collect())
            }
            Value::Owner(owner) => text(&owner.to_string()),
            Value::Taints(taints) => Self::List(taints.iter().map(|taint| text(&taint_text(taint))).collect()),
        }
    }

    /// The result of a read, or the reason why it has none.
    pub(crate) fn of_answer(read: Read<'_>, answer: &Result<Value<'_>, ReadError>) -> Self {
        match answer {
            Ok(Value::Number(number)) => Self::of_number(*number, read.is_flag()),
            Ok(value) => Self::of(value, Self::FULL),
            Err(error) => Self::Note(error.to_string().into()),
        }
    }

    /// A number, or the yes or no that it stands for.
    pub(crate) const fn of_number(number: i64, is_flag: bool) -> Self {
        if is_flag { Self::Flag(number != 0) } else { Self::Number(number) }
    }

    fn text(text: &str, longest: usize) -> Self {
        let end = text.char_indices().nth(longest).map(|(end, _)| end);
        Self::Text(end.map_or_else(|| text.into(), |end| format!("{}...", &text[..end]).into()))
    }
}

impl HeapSize for Shown {
    fn heap_size(&self) -> usize {
        match self {
            Self::Absent | Self::Flag(_) | Self::Number(_) | Self::Real(_) => 0,
            Self::Text(text) | Self::Note(text) => text.len(),
            Self::List(items) | Self::Grouping(_, items) => {
                items.iter().map(|item| size_of::<Self>() + item.heap_size()).sum()
            }
        }
    }
}

/// For people: texts are quoted, and cut where they are long.
impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("none"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Real(real) => write!(f, "{real}"),
            Self::Text(text) => match text.char_indices().nth(LINE) {
                Some((end, _)) => write!(f, "{:?}...", &text[..end]),
                None => write!(f, "{text:?}"),
            },
            Self::List(items) => list(f, items),
            Self::Grouping(nodes, values) => {
                write!(f, "{nodes} nodes by ")?;
                list(f, values)
            }
            Self::Note(text) => f.write_str(text),
        }
    }
}

fn taint_text(Taint { key, value, effect }: &Taint) -> String {
    if value.is_empty() { format!("{key}:{effect}") } else { format!("{key}={value}:{effect}") }
}

fn list(f: &mut fmt::Formatter<'_>, items: &[Shown]) -> fmt::Result {
    f.write_str("[")?;
    for (at, item) in items.iter().take(MAX_ITEMS).enumerate() {
        f.write_str(if at == 0 { "" } else { ", " })?;
        write!(f, "{item}")?;
    }
    match items.len().saturating_sub(MAX_ITEMS) {
        0 => f.write_str("]"),
        more => write!(f, " and {more} more]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let long = "ü".repeat(200);
        let Shown::Text(kept) = Shown::of(&Value::text(&long), 150) else { panic!("no text") };
        assert_eq!(kept.chars().count(), 153);
        assert_eq!(Shown::of(&Value::text("a"), 150).to_string(), "\"a\"");
        assert_eq!(Shown::Text(long.into()).to_string().chars().count(), 2 + 120 + 3);
    }
}
