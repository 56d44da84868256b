//! Reads the YAML of a facts file: each error has its place and field, and no text makes the parser work long.

use std::fmt::Write as _;

use plimsoll_core::{looks_secret, quotable};
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use serde_saphyr::{Error, Location, Options, SnippetMode, render_options};

use super::FieldError;

/// Reads one document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, FieldError> {
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            field = field_name(error.path());
            error.into_inner()
        })
    });
    read.map_err(|error: Error| describe(error.without_snippet(), field))
}

/// Ample for 64 sources, and far from a size that would take long.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 20_000,
            max_nodes: 10_000,
            max_depth: 16,
            max_documents: 1,
            max_anchors: 100,
            max_aliases: 100,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 256, max_replay_stack_depth: 8 },
        strict_booleans: true,
        with_snippet: false,
    }
}

fn describe(error: &Error, mut field: String) -> FieldError {
    let at = error.location().and_then(place);
    let text = match error {
        Error::SerdeUnknownField { field: key, expected, .. } => {
            // The path ends with the key, which the text repeats.
            field.truncate(field.rfind('.').unwrap_or(0));
            format!("unknown key '{}': expected one of {}", quotable(key), expected.join(", "))
        }
        Error::SerdeMissingField { field, .. } => format!("the key '{field}' is missing"),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key '{}' is there twice", quotable(key)),
        Error::Unexpected { expected: "mapping start", .. } => "expected a mapping of keys to values".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "expected text".to_owned(),
        Error::MultipleDocuments { .. } => "a second document starts here: expected one".to_owned(),
        other => {
            let text = other.render_with_options(render_options! { snippets: SnippetMode::Off });
            // The parser names the place behind its text.
            let text = text.split(" at line ").next().unwrap_or_default().trim_end().to_owned();
            if text.split_whitespace().any(looks_secret) { "this is not YAML".to_owned() } else { text }
        }
    };
    FieldError { at, field, text }
}

/// The field as an operator would write it: `load.prometheus.url`.
fn field_name(path: &Path) -> String {
    let mut name = String::new();
    for segment in path {
        match segment {
            // Writing to a String cannot fail.
            Segment::Seq { index } => drop(write!(name, "[{index}]")),
            // A value with its place is a record of its own to serde.
            Segment::Map { key } if key == "value" && !name.is_empty() => {}
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

/// Line and column of a location, if it is known.
pub(super) fn place(location: Location) -> Option<(u64, u64)> {
    (location.line() > 0).then(|| (location.line(), location.column()))
}
