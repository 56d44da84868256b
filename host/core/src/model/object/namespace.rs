//! A namespace as policies can read it: by its labels.

use std::sync::Arc;

use serde::Deserialize;

use super::{Entries, ObjectError, metadata::MetadataJson, parse};

/// One namespace.
#[derive(Debug, PartialEq, Eq)]
pub struct Namespace {
    name: Arc<str>,
    labels: Entries,
}

#[derive(Deserialize)]
struct NamespaceJson<'a> {
    #[serde(borrow)]
    metadata: MetadataJson<'a>,
}

// === impl Namespace ===

impl Namespace {
    /// Reads the JSON of one Namespace; only fields that policies can read are kept.
    ///
    /// # Errors
    /// If it is not JSON, has no name, or its labels have another type.
    pub fn from_json(json: &[u8]) -> Result<Self, ObjectError> {
        let NamespaceJson { metadata: MetadataJson { name, labels, .. } } = parse("Namespace", json)?;
        if name.is_empty() {
            return Err(ObjectError::new("Namespace", "has no metadata.name"));
        }
        Ok(Self { name: name.into(), labels })
    }

    /// `metadata.name`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Entries {
        &self.labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_read_with_its_labels_and_needs_a_name() {
        let read = |json: &str| Namespace::from_json(json.as_bytes());
        let web =
            read(r#"{"metadata":{"name":"web","labels":{"tenant":"a"},"annotations":{"b":"c"}},"spec":{}}"#).unwrap();
        assert_eq!((web.name().as_ref(), web.labels().get("tenant"), web.labels().get("b")), ("web", Some("a"), None));
        assert!(read(r#"{"metadata":{"name":"web"}}"#).unwrap().labels().is_empty());
        assert_eq!(read(r#"{"metadata":{}}"#).unwrap_err().to_string(), "Namespace has no metadata.name");
        for json in ["{}", "[]", "null", r#"{"metadata":{"name":"web","labels":[]}}"#] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
