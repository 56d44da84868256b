//! The controller of a pod.

use std::fmt;

use serde::Deserialize;

/// The owner of a pod that replaces it when it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    api_version: Box<str>,
    kind: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    controller: Option<bool>,
}

// === impl Owner ===

impl Owner {
    /// The controller among the owners of a pod.
    pub(super) fn controller(owners: Vec<Self>) -> Option<Self> {
        owners.into_iter().find(|owner| owner.controller == Some(true))
    }

    /// Group and version, such as `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// The kind, such as `ReplicaSet`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// `metadata.name` of the owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `metadata.uid` of the owner.
    pub fn uid(&self) -> &str {
        &self.uid
    }
}

/// For people: `apps/v1 ReplicaSet web-5d7 (UID 1234)`.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} (UID {})", self.api_version(), self.kind(), self.name(), self.uid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controller(json: &str) -> Option<Owner> {
        Owner::controller(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn the_owner_is_the_controller_whatever_other_owners_there_are() {
        let owner = controller(
            r#"[{"apiVersion":"v1","kind":"Node","name":"n","uid":"1"},
                {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d7","uid":"u\u002d2","controller":true}]"#,
        )
        .unwrap();
        let texts = [owner.api_version(), owner.kind(), owner.name(), owner.uid()];
        assert_eq!(texts, ["apps/v1", "ReplicaSet", "web-5d7", "u-2"]);
        assert_eq!(owner.to_string(), "apps/v1 ReplicaSet web-5d7 (UID u-2)");
        assert_eq!(controller("[]"), None);
        assert_eq!(controller(r#"[{"kind":"Node","controller":false},{"kind":"Job","controller":null}]"#), None);
    }
}
