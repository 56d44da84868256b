//! Reads the YAML of a case: each error has its line and field, and no text makes the parser work long.

use std::fmt::{self, Write as _};

use plimsoll_core::excerpt;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};
use serde_saphyr::{Error, Options, SnippetMode, render_options};

/// Maximum bytes of an error and of the field that it names; an author's own text may be megabytes.
const MAX_TEXT_BYTES: usize = 500;

/// An error in a text, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct YamlError {
    /// The line, from 1.
    pub(crate) line: Option<u64>,
    /// The path of the field, such as `expect.filter.node-1`; empty for the whole file.
    field: String,
    /// The problem, and the expected content.
    text: String,
}

/// Reads one document.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let mut field = String::new();
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |yaml| {
        serde_path_to_error::deserialize(yaml).map_err(|error| {
            field = excerpt(&field_name(error.path()), MAX_TEXT_BYTES);
            error.into_inner()
        })
    });
    read.map_err(|error: Error| {
        let error = error.without_snippet();
        let line = error.location().map(|place| place.line()).filter(|line| *line > 0);
        let text = error.render_with_options(render_options! { snippets: SnippetMode::Off });
        // The parser names the place behind its text, and quotes texts of up to megabytes.
        let text = excerpt(text.rsplit_once(" at line ").map_or(&*text, |(text, _)| text).trim_end(), MAX_TEXT_BYTES);
        YamlError { line, field, text }
    })
}

/// Ample for a few hundred whole objects of a cluster, and far from a size that would take seconds.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 600_000,
            max_nodes: 300_000,
            max_depth: 64,
            max_documents: 1,
            max_anchors: 1_000,
            max_aliases: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000, max_replay_stack_depth: 8 },
        strict_booleans: true,
        with_snippet: false,
    }
}

/// The field as an author would write it: `nodes[2].metadata`.
fn field_name(path: &Path) -> String {
    let mut name = String::new();
    for segment in path {
        match segment {
            // Writing to a String cannot fail.
            Segment::Seq { index } => drop(write!(name, "[{index}]")),
            // A value with its place is a record of its own to serde.
            Segment::Map { key } if key == "value" && (name.starts_with("expect") || is_object(&name)) => {}
            Segment::Map { key } => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(key);
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    name
}

/// Whether a field is one of the objects of the world, which are read with their places.
fn is_object(field: &str) -> bool {
    field == "pod" || field.ends_with(']') && !field.contains('.')
}

// === impl YamlError ===

/// Without the line.
impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.text)
    }
}
