//! Kubernetes objects in a text: single ones, lists, several documents, JSON or YAML.

use std::{borrow::Cow, fmt::Display};

use plimsoll_core::{KnownKeys, excerpt, set_defaults};
use plimsoll_yaml::Format;
use serde::{Deserialize, de::DeserializeSeed as _};
use serde_json::{Value, value::RawValue};

/// Maximum bytes of the name of an object in an error.
const MAX_NAME: usize = 80;

/// A single object, read once more for the place of an error.
const WRITTEN: Format =
    Format { max_nodes: 1_000_000, max_replayed_events: 10_000, free_field: None, empty: "the file is empty" };

/// One object of a text.
pub(crate) struct DocumentObject<'a> {
    /// Its kind; `None` if neither the object nor its list has one.
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) json: &'a str,
    /// Of several documents, from 0.
    document: Option<usize>,
    /// In a list, from 0.
    item: Option<usize>,
    /// The text, if it has nothing but this object.
    text: Option<&'a str>,
}

/// The fields that distinguish a list from a single object.
#[derive(Deserialize)]
#[serde(expecting = "a Kubernetes object or list")]
struct Head<'a> {
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

// === impl DocumentObject ===

impl DocumentObject<'_> {
    /// An error about this object: its place, and the error.
    pub(crate) fn wrong(&self, error: impl Display) -> String {
        let document = self.document.map_or_else(String::new, |document| format!(" document {document}:"));
        let item = self.item.map_or_else(String::new, |item| {
            let json: Value = serde_json::from_str(self.json).unwrap_or_default();
            let name = json.pointer("/metadata/name").and_then(Value::as_str);
            let name = name.map_or_else(String::new, |name| format!(" ({})", excerpt(name, MAX_NAME)));
            format!(" items[{item}]{name}:")
        });
        format!(":{document}{item} {}", without_place(&error.to_string()))
    }

    /// Its JSON with the API server's defaults. What the API server has kept has them already, and only fields that exist.
    pub(crate) fn with_defaults(&self) -> Result<Cow<'_, str>, String> {
        let Some(kind) = self.kind.as_deref().filter(|_| !self.json.contains("\"resourceVersion\"")) else {
            return Ok(Cow::Borrowed(self.json));
        };
        let given = KnownKeys::of(kind).deserialize(&mut serde_json::Deserializer::from_str(self.json));
        let given = given.map_err(|error| self.unknown_key(kind, &error))?;
        let mut json = given.clone();
        set_defaults(kind, &mut json);
        Ok(if json == given { Cow::Borrowed(self.json) } else { Cow::Owned(json.to_string()) })
    }

    /// The error with its line and field, where a parser of the whole text finds them.
    fn unknown_key(&self, kind: &str, error: &serde_json::Error) -> String {
        let found = self.text.and_then(|text| WRITTEN.read_seed(text, KnownKeys::of(kind)).err());
        found.map_or_else(|| self.wrong(error), |error| format!(":{error}"))
    }
}

/// Hands every object of a text to `visit`; lists are opened. An error begins with its place in the text.
///
/// A text that starts as a JSON object is JSON, one or several; anything else is YAML.
pub(crate) fn each_object(
    text: &str,
    mut visit: impl FnMut(&DocumentObject<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let documents: Vec<Cow<'_, str>> = if text.trim_start().starts_with('{') {
        let read: Result<Vec<&RawValue>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        let read = read.map_err(|error| json_error(&error))?;
        read.into_iter().map(|document| Cow::Borrowed(document.get())).collect()
    } else {
        let read = serde_saphyr::from_multiple_with_options(text, yaml_options());
        let read: Vec<Value> = read.map_err(|error| yaml_error(error.without_snippet()))?;
        read.into_iter().map(|document| Cow::Owned(document.to_string())).collect()
    };
    let is_single = documents.len() == 1;
    for (index, document) in documents.iter().enumerate().filter(|(_, document)| *document != "null") {
        let whole = DocumentObject {
            kind: None,
            json: document,
            document: (!is_single).then_some(index),
            item: None,
            text: is_single.then_some(text),
        };
        each_of_document(&whole, &mut visit)?;
    }
    Ok(())
}

/// The value of a text that has one document, JSON or YAML.
pub(crate) fn single_value(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str_with_options(text, yaml_options()).map_err(|error| yaml_error(error.without_snippet()))
}

fn each_of_document(
    whole: &DocumentObject<'_>,
    visit: &mut impl FnMut(&DocumentObject<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let head: Head<'_> = serde_json::from_str(whole.json).map_err(|error| whole.wrong(error))?;
    let Some(items) = head.items else {
        return visit(&DocumentObject { kind: head.kind, ..*whole });
    };
    // Items of a typed list, as the API server sends them, do not repeat their kind.
    let listed = head.kind.as_deref().and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
    for (index, item) in items.into_iter().enumerate() {
        let mut object = DocumentObject { kind: None, json: item.get(), item: Some(index), text: None, ..*whole };
        let head: Head<'_> = serde_json::from_str(item.get()).map_err(|error| object.wrong(error))?;
        object.kind = head.kind.or(listed.map(Cow::Borrowed));
        visit(&object)?;
    }
    Ok(())
}

fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!(":{}:{}: {}: expected JSON as kubectl writes it", error.line(), error.column(), without_place(&text))
}

fn yaml_error(error: &serde_saphyr::Error) -> String {
    let at = error.location().filter(|place| place.line() > 0);
    let at = at.map_or_else(|| ":".to_owned(), |place| format!(":{}:{}:", place.line(), place.column()));
    let options = serde_saphyr::render_options! { snippets: serde_saphyr::SnippetMode::Off };
    let text = error.render_with_options(options);
    format!("{at} {}: expected YAML as kubectl writes it", without_place(&text))
}

/// A parser counts lines in the part that it was given; the place in the file stands before its text.
pub(crate) fn without_place(text: &str) -> &str {
    text.split(" at line ").next().unwrap_or(text)
}

/// A snapshot may be large, but the value of one alias may not.
fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 200_000_000,
            max_nodes: 100_000_000,
            max_documents: 1_000_000,
            max_total_scalar_bytes: 4 << 30,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 8 },
        strict_booleans: true,
        with_snippet: false,
    }
}
