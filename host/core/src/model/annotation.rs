//! Annotations and labels that a policy gives a pod as it is bound.

mod rules;

use std::collections::BTreeMap;

pub(crate) use self::rules::breach;
pub use self::rules::{MAX_ANNOTATION_BYTES, MAX_ENTRIES};

/// One annotation or label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetadataEntry {
    /// The key: `example.com/device`.
    pub key: Box<str>,
    /// The value; any text for an annotation.
    pub value: Box<str>,
}

/// The annotations and labels that one policy gives a pod in the write that binds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindMetadata {
    /// Its annotations.
    pub annotations: Vec<MetadataEntry>,
    /// Its labels.
    pub labels: Vec<MetadataEntry>,
}

/// The annotations and labels that all policies together give a pod in the write that binds it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    /// Annotations by key.
    pub annotations: BTreeMap<Box<str>, Box<str>>,
    /// Labels by key.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

// === impl MetadataEntry ===

impl MetadataEntry {
    /// An annotation or label with this key and value.
    pub fn new(key: impl Into<Box<str>>, value: impl Into<Box<str>>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}

// === impl BindMetadata ===

impl BindMetadata {
    /// Whether it gives nothing.
    pub fn is_empty(&self) -> bool {
        self.annotations.is_empty() && self.labels.is_empty()
    }
}

impl From<Vec<MetadataEntry>> for BindMetadata {
    fn from(annotations: Vec<MetadataEntry>) -> Self {
        Self { annotations, labels: Vec::new() }
    }
}
