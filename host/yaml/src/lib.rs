//! Reads YAML that people write: sidecars, the facts file, test cases and pods.
//!
//! Each error names line, column and field, and says what was expected. Limits bound the parser's time and memory, since
//! aliases may expand to gigabytes.

mod place;

use std::{
    fmt::{self, Write as _},
    marker::PhantomData,
};

use plimsoll_core::quotable;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde_path_to_error::{Path, Segment, Track};
use serde_saphyr::{Error, Location, Options, SnippetMode, budget::BudgetBreach, render_options};

pub use self::place::place_in;

/// Maximum depth of lists and maps in each other.
const MAX_DEPTH: usize = 64;

/// A kind of file.
#[derive(Debug)]
pub struct Format {
    /// Maximum scalars, lists and maps.
    pub max_nodes: usize,
    /// Maximum events that all aliases together repeat: a scalar is one, a list or a map has two and those in it.
    pub max_replayed_events: usize,
    /// The field below which values are the author's own: there a key `value` is a key. Elsewhere serde gives a value
    /// with its position as a record with such a key, which no error names.
    pub free_field: Option<&'static str>,
    /// The error of a file without content.
    pub empty: &'static str,
}

/// An error in a text, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Line and column, from 1.
    pub position: Option<(u64, u64)>,
    /// The path of the field, such as `match.namespaces[0]`; empty for the whole file.
    pub field: String,
    /// The problem and the expected content.
    pub text: String,
}

// === impl Format ===

impl Format {
    /// Reads one document.
    ///
    /// # Errors
    /// If the text is not YAML, passes a limit, or does not have the form of `T`.
    pub fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, FieldError> {
        self.read_seed(text, PhantomData)
    }

    /// Reads one document with a seed.
    ///
    /// # Errors
    /// As [`Format::read`].
    pub fn read_seed<S: for<'de> DeserializeSeed<'de, Value = T>, T>(
        &self,
        text: &str,
        seed: S,
    ) -> Result<T, FieldError> {
        if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
            return Err(FieldError::of_file(self.empty));
        }
        let mut field = String::new();
        let read = serde_saphyr::with_deserializer_from_str_with_options(text, self.options(), |yaml| {
            let mut track = Track::new();
            let read = seed.deserialize(serde_path_to_error::Deserializer::new(yaml, &mut track));
            read.inspect_err(|_| field = self.field_name(&track.path()))
        });
        read.map_err(|error: Error| describe(error.without_snippet(), field))
    }

    fn options(&self) -> Options {
        serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: 2 * self.max_nodes,
                max_nodes: self.max_nodes,
                max_depth: MAX_DEPTH,
                max_documents: 1,
                max_anchors: self.max_replayed_events,
                max_aliases: self.max_replayed_events,
            },
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: self.max_replayed_events,
                max_replay_stack_depth: 8,
            },
            strict_booleans: true,
            with_snippet: false,
        }
    }

    /// The field as an author would write it: `match.namespaces[2]`.
    fn field_name(&self, path: &Path) -> String {
        let mut name = String::new();
        for segment in path {
            match segment {
                // Writing to a String cannot fail.
                Segment::Seq { index } => drop(write!(name, "[{index}]")),
                Segment::Map { key } if key == "value" && !self.is_free(&name) => {}
                Segment::Map { key } => {
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.push_str(&quotable(key));
                }
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        name
    }

    fn is_free(&self, field: &str) -> bool {
        field.is_empty() || self.free_field.is_some_and(|free| field.starts_with(free))
    }
}

// === impl FieldError ===

impl FieldError {
    /// An error about the field at this place.
    pub fn at(field: &str, place: Location, text: impl Into<String>) -> Self {
        Self { position: position(place), field: field.to_owned(), text: text.into() }
    }

    /// The error of a whole file.
    pub fn of_file(text: &str) -> Self {
        Self { position: None, field: String::new(), text: text.to_owned() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        if !self.field.is_empty() {
            write!(f, " {}:", self.field)?;
        }
        write!(f, " {}", self.text)
    }
}

impl std::error::Error for FieldError {}

/// Line and column of a location, if it is known.
pub fn position(location: Location) -> Option<(u64, u64)> {
    (location.line() > 0).then(|| (location.line(), location.column()))
}

fn describe(error: &Error, mut field: String) -> FieldError {
    let position = error.location().and_then(position);
    let text = match error {
        Error::SerdeUnknownField { field: key, expected, .. } => {
            // The path ends with the key, which the text repeats.
            field.truncate(field.rfind('.').unwrap_or(0));
            format!("unknown key '{}': expected one of {}", quotable(key), expected.join(", "))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!("found '{}': expected one of {}", quotable(variant), expected.join(", "))
        }
        Error::SerdeMissingField { field, .. } => format!("the key '{field}' is missing"),
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            format!("found {}: expected {expected}", quotable(unexpected))
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key '{}' is there twice", quotable(key)),
        Error::InvalidScalar { ty: "i32", .. } => format!("expected a whole number from {} to {}", i32::MIN, i32::MAX),
        Error::InvalidScalar { ty: "u32", .. } => format!("expected a whole number from 0 to {}", u32::MAX),
        // A value with its position is read as "floating point".
        Error::InvalidScalar { ty: "f64" | "floating point", .. } => "expected a number".to_owned(),
        Error::NonFiniteFloat { value, .. } => {
            format!("found {}: expected a number from -1.8e308 to 1.8e308", quotable(value))
        }
        Error::InvalidBooleanStrict { .. } => "expected true or false".to_owned(),
        Error::Unexpected { expected: "mapping start", .. } => "expected a mapping of keys to values".to_owned(),
        Error::Unexpected { expected: "sequence start", .. } => "expected a list".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "expected text".to_owned(),
        Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. } => "expected one word".to_owned(),
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a second document starts here: expected one".to_owned()
        }
        other => {
            let text = other.render_with_options(render_options! { snippets: SnippetMode::Off });
            // The parser names the position behind its text; the caller prints it.
            text.split(" at line ").next().unwrap_or_default().trim_end().to_owned()
        }
    };
    FieldError { position, field, text }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_saphyr::Spanned;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Document {
        #[allow(dead_code, reason = "only errors are looked at")]
        names: Vec<String>,
        #[allow(dead_code, reason = "only errors are looked at")]
        step: Option<f64>,
        #[allow(dead_code, reason = "only errors are looked at")]
        width: Option<Spanned<f64>>,
    }

    const FORMAT: Format =
        Format { max_nodes: 100, max_replayed_events: 256, free_field: None, empty: "the file is empty" };

    #[test]
    fn an_error_has_its_position_its_field_and_the_expected_content() {
        for (text, expected) in [
            ("names: [a]\nnamed: b", "2:1: unknown key 'named': expected one of names, step, width"),
            ("step: 1", "1:1: the key 'names' is missing"),
            ("names: [a]\nstep: fast", "2:7: step: expected a number"),
            ("names: [a]\nwidth: 0.05x", "2:8: width: expected a number"),
            ("names: [a, {b: c}]", "1:12: names[1]: expected text"),
            ("names: a", "1:8: names: expected a list"),
            ("names: [a]\nnames: [b]", "2:1: the key 'names' is there twice"),
            ("names: [a]\n---\nnames: [b]", "a second document starts here: expected one"),
            ("# nothing\n", " the file is empty"),
        ] {
            let error = FORMAT.read::<Document>(text).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn aliases_and_depth_are_bounded() {
        let deep = format!("names: {}a{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        let wide = format!("names: [{}]", "a, ".repeat(200));
        let laughs =
            "names: [&a [x, x, x, x, x, x, x, x], &b [*a, *a, *a, *a, *a, *a, *a, *a], [*b, *b, *b, *b, *b, *b]]";
        for text in [&*deep, &*wide, laughs] {
            assert!(FORMAT.read::<Document>(text).is_err(), "{text}");
        }
    }
}
