//! YAML with places: each error names line, column and field, and no text makes the parser work long.

use std::fmt::Write as _;

use plimsoll_core::{looks_secret, quotable};
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use serde_saphyr::{Error, Location, Options, SnippetMode, budget::BudgetBreach, render_options};

use super::SidecarError;

/// Reads one document.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, SidecarError> {
    if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
        return Err(SidecarError {
            at: None,
            field: String::new(),
            text: "the file is empty: expected at least one key, or '{}' for the defaults".to_owned(),
        });
    }
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            field = field_name(error.path());
            error.into_inner()
        })
    });
    read.map_err(|error: Error| describe(error.without_snippet(), field))
}

/// Small limits: a sidecar is written by hand, and aliases must not expand to gigabytes.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 200_000,
            max_nodes: 100_000,
            max_depth: 32,
            max_documents: 1,
            max_anchors: 100,
            max_aliases: 100,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 256, max_replay_stack_depth: 8 },
        strict_booleans: true,
        with_snippet: false,
    }
}

fn describe(error: &Error, mut field: String) -> SidecarError {
    let at = error.location().and_then(place);
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
        Error::Unexpected { expected: "mapping start", .. } => "expected a mapping of keys to values".to_owned(),
        Error::Unexpected { expected: "sequence start", .. } => "expected a list".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "expected text".to_owned(),
        Error::ExternallyTaggedEnumExpectedScalarOrMapping { .. } => "expected one word".to_owned(),
        Error::MultipleDocuments { .. } | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a second document starts here: expected one".to_owned()
        }
        other => {
            let text = plain(&other.render_with_options(render_options! { snippets: SnippetMode::Off }));
            if text.split_whitespace().any(looks_secret) { "this is not YAML".to_owned() } else { text }
        }
    };
    SidecarError { at, field, text }
}

/// The parser's text without the place, which the caller prints.
fn plain(rendered: &str) -> String {
    rendered.split(" at line ").next().unwrap_or(rendered).trim_end().to_owned()
}

/// The field as an author would write it: `match.namespaces[2]`.
fn field_name(path: &Path) -> String {
    let mut name = String::new();
    for segment in path {
        match segment {
            // Writing to a String cannot fail.
            Segment::Seq { index } => drop(write!(name, "[{index}]")),
            // A value with its place is a record of its own to serde; settings have no such values.
            Segment::Map { key } if key == "value" && !name.starts_with("settings") => {}
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
