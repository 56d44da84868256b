//! The metadata of objects, and the owners that it names.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, de::IgnoredAny};

use super::Entries;

/// `metadata` of an object.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MetadataJson<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) uid: Cow<'a, str>,
    pub(super) labels: Entries,
    pub(super) annotations: Entries,
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Cow<'a, str>>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    pub(super) owner_references: Option<Vec<Owner>>,
}

/// The owner of a pod that replaces it when it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// Group and version, such as `apps/v1`.
    pub api_version: Box<str>,
    /// The kind, such as `ReplicaSet`.
    pub kind: Box<str>,
    /// `metadata.name` of the owner.
    pub name: Box<str>,
    /// `metadata.uid` of the owner.
    pub uid: Box<str>,
    controller: Option<bool>,
}

// === impl MetadataJson ===

impl MetadataJson<'_> {
    /// Manifests may have no namespace.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}

// === impl Owner ===

impl Owner {
    pub(super) fn is_controller(&self) -> bool {
        self.controller == Some(true)
    }
}

/// For people: `apps/v1 ReplicaSet web-5d7 (UID 1234)`.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} (UID {})", self.api_version, self.kind, self.name, self.uid)
    }
}
