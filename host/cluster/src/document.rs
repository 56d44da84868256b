//! Kubernetes objects in a text: single ones, lists, several documents, JSON or YAML.

use std::{borrow::Cow, fmt};

use serde::Deserialize;
use serde_json::value::RawValue;

/// One object of a text.
pub(crate) struct DocumentObject<'a> {
    /// Its kind; `None` if neither the object nor its list has one.
    pub(crate) kind: Option<Cow<'a, str>>,
    pub(crate) json: &'a str,
    place: Location,
}

/// Where an object stands.
#[derive(Debug, Clone, Copy, Default)]
struct Location {
    /// From 1; `None` in YAML.
    line: Option<usize>,
    /// Of several documents, from 0.
    document: Option<usize>,
    /// In a list, from 0.
    item: Option<usize>,
}

/// An error in a text, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    at: String,
    text: String,
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

/// The fields that name an object.
#[derive(Deserialize, Default)]
struct Named {
    #[serde(default)]
    metadata: Option<ObjectMeta>,
}

#[derive(Deserialize)]
struct ObjectMeta {
    #[serde(default)]
    name: Option<String>,
}

// === impl DocumentObject ===

impl DocumentObject<'_> {
    /// An error about this object.
    pub(crate) fn wrong(&self, text: impl fmt::Display) -> DocumentError {
        let line = self.place.line.map_or_else(String::new, |line| format!(":{line}"));
        let document = self.place.document.map_or_else(String::new, |document| format!(" document {document}:"));
        let item = self.place.item.map_or_else(String::new, |item| match self.name() {
            Some(name) => format!(" items[{item}] ({name}):"),
            None => format!(" items[{item}]:"),
        });
        DocumentError { at: format!("{line}:{document}{item}"), text: without_place(&text.to_string()).to_owned() }
    }

    fn name(&self) -> Option<String> {
        let named: Named = serde_json::from_str(self.json).ok()?;
        named.metadata?.name.map(|name| name.chars().take(80).collect())
    }
}

// === impl DocumentError ===

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.text)
    }
}

impl std::error::Error for DocumentError {}

/// Hands every object of a text to `visit`; lists are opened.
///
/// A text that starts as a JSON object is JSON, one or several; anything else is YAML.
pub(crate) fn each_object(
    text: &str,
    mut visit: impl FnMut(&DocumentObject<'_>) -> Result<(), DocumentError>,
) -> Result<(), DocumentError> {
    if text.trim_start().starts_with('{') { each_json(text, &mut visit) } else { each_yaml(text, &mut visit) }
}

/// The value of a text that has one document, JSON or YAML.
pub(crate) fn single_value(text: &str) -> Result<serde_json::Value, DocumentError> {
    serde_saphyr::from_str_with_options(text, yaml_options()).map_err(|error| yaml_error(error.without_snippet()))
}

type Visit<'v> = dyn FnMut(&DocumentObject<'_>) -> Result<(), DocumentError> + 'v;

fn each_json(text: &str, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
    let mut lines = LineCounter { text, offset: 0, line: 1 };
    for document in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let document = document.map_err(|error| json_error(&error, 0))?;
        let line = lines.of(document.get());
        let place = Location { line: Some(line), ..Location::default() };
        each_of_document(document.get(), place, Some(&mut lines), visit)?;
    }
    Ok(())
}

fn each_yaml(text: &str, visit: &mut Visit<'_>) -> Result<(), DocumentError> {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple_with_options(text, yaml_options())
        .map_err(|error| yaml_error(error.without_snippet()))?;
    let is_single = documents.len() == 1;
    for (index, document) in documents.into_iter().enumerate().filter(|(_, document)| !document.is_null()) {
        let place = Location { document: (!is_single).then_some(index), ..Location::default() };
        each_of_document(&document.to_string(), place, None, visit)?;
    }
    Ok(())
}

/// `lines`: where the text is part of the file.
fn each_of_document(
    json: &str,
    place: Location,
    mut lines: Option<&mut LineCounter<'_>>,
    visit: &mut Visit<'_>,
) -> Result<(), DocumentError> {
    let whole = DocumentObject { kind: None, json, place };
    let head: Head<'_> = serde_json::from_str(json).map_err(|error| match place.line {
        Some(line) => json_error(&error, line - 1),
        None => whole.wrong(error),
    })?;
    let Some(items) = head.items else {
        return visit(&DocumentObject { kind: head.kind, json, place });
    };
    // Items of a typed list, as the API server sends them, do not repeat their kind.
    let listed = head.kind.as_deref().and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
    for (index, item) in items.into_iter().enumerate() {
        let line = lines.as_deref_mut().map(|lines| lines.of(item.get()));
        let place = Location { item: Some(index), line, ..place };
        let mut object = DocumentObject { kind: None, json: item.get(), place };
        let head: Result<Head<'_>, _> = serde_json::from_str(item.get());
        let head = head.map_err(|error| object.wrong(error))?;
        object.kind = head.kind.or(listed.map(Cow::Borrowed));
        visit(&object)?;
    }
    Ok(())
}

/// Counts lines up to parts of a text that come in order.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

// === impl LineCounter ===

impl LineCounter<'_> {
    /// The line of a part of the text, from 1.
    fn of(&mut self, part: &str) -> usize {
        let offset = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        if let Some(between) = self.text.get(self.offset..offset) {
            self.line += between.matches('\n').count();
            self.offset = offset;
        }
        self.line
    }
}

fn json_error(error: &serde_json::Error, lines_before: usize) -> DocumentError {
    let text = error.to_string();
    let text = without_place(&text);
    let at = format!(":{}:{}:", error.line() + lines_before, error.column());
    DocumentError { at, text: format!("{text}: expected JSON as kubectl writes it") }
}

fn yaml_error(error: &serde_saphyr::Error) -> DocumentError {
    let at = error.location().filter(|place| place.line() > 0);
    let at = at.map_or_else(|| ":".to_owned(), |place| format!(":{}:{}:", place.line(), place.column()));
    let options = serde_saphyr::render_options! { snippets: serde_saphyr::SnippetMode::Off };
    let text = error.render_with_options(options);
    let text = without_place(&text);
    DocumentError { at, text: format!("{text}: expected YAML as kubectl writes it") }
}

/// A parser counts lines in the part that it was given; the place in the file stands before its text.
fn without_place(text: &str) -> &str {
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
            max_aliases: 1_000,
            max_anchors: 1_000,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000, max_replay_stack_depth: 8 },
        strict_booleans: true,
        with_snippet: false,
    }
}
