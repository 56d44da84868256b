//! Annotations and labels that a policy gives a pod as it is bound.

mod rules;

use std::collections::BTreeMap;

pub(crate) use self::rules::breach;
pub use self::rules::{MAX_ANNOTATION_BYTES, MAX_ANNOTATIONS, MAX_LABELS};

/// One annotation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Annotation {
    /// The key: `example.com/device`.
    pub key: Box<str>,
    /// The value, any text.
    pub value: Box<str>,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label {
    /// The key: `example.com/rack`.
    pub key: Box<str>,
    /// The value.
    pub value: Box<str>,
}

/// The annotations and labels that one policy gives a pod in the write that binds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindMetadata {
    /// Its annotations.
    pub annotations: Vec<Annotation>,
    /// Its labels.
    pub labels: Vec<Label>,
}

/// The annotations and labels that all policies together give a pod in the write that binds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    /// Annotations by key.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
    /// Labels by key.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

// === impl Annotation ===

impl Annotation {
    /// An annotation with this key and value.
    pub fn new(key: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// Bytes of key and value.
    pub fn size(&self) -> usize {
        self.key.len() + self.value.len()
    }
}

// === impl Label ===

impl Label {
    /// A label with this key and value.
    pub fn new(key: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

// === impl BindMetadata, Additions ===

impl BindMetadata {
    /// Whether it gives nothing.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.labels.is_empty()
    }
}

impl From<Vec<Annotation>> for BindMetadata {
    fn from(annotations: Vec<Annotation>) -> Self {
        Self { annotations, labels: Vec::new() }
    }
}

impl Additions {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.labels.is_empty()
    }
}
