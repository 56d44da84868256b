//! The controller of a pod.

use std::{borrow::Cow, fmt};

use serde::Deserialize;

/// The owner of a pod that replaces it when it is gone; a cluster has many, so each keeps its text in one piece.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    text: Box<str>,
    /// Where API version, kind and name end in the text; the UID comes after them.
    ends: [u32; 3],
}

/// One entry of `metadata.ownerReferences`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnerJson<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    controller: Option<bool>,
}

// === impl Owner ===

impl Owner {
    /// The controller among the owners of a pod.
    pub(super) fn controller(owners: &[OwnerJson<'_>]) -> Option<Self> {
        let OwnerJson { api_version, kind, name, uid, .. } =
            owners.iter().find(|owner| owner.controller == Some(true))?;
        let texts = [api_version, kind, name, uid].map(AsRef::as_ref);
        let mut end = 0;
        // A text of the API is smaller than 4 GiB: one request is at most 3 MiB.
        let ends = [api_version, kind, name].map(|text| {
            end += text.len() as u32;
            end
        });
        Some(Self { text: texts.concat().into(), ends })
    }

    /// Group and version, such as `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.text[..self.ends[0] as usize]
    }

    /// The kind, such as `ReplicaSet`.
    pub fn kind(&self) -> &str {
        &self.text[self.ends[0] as usize..self.ends[1] as usize]
    }

    /// `metadata.name` of the owner.
    pub fn name(&self) -> &str {
        &self.text[self.ends[1] as usize..self.ends[2] as usize]
    }

    /// `metadata.uid` of the owner.
    pub fn uid(&self) -> &str {
        &self.text[self.ends[2] as usize..]
    }

    /// Bytes of all texts.
    pub(super) fn text_bytes(&self) -> usize {
        self.text.len()
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
        Owner::controller(&serde_json::from_str::<Vec<OwnerJson<'_>>>(json).unwrap())
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

    #[test]
    fn texts_that_are_empty_or_cut_elsewhere_are_other_owners() {
        let of = |kind: &str, name: &str| {
            controller(&format!(r#"[{{"kind":"{kind}","name":"{name}","controller":true}}]"#)).unwrap()
        };
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert_eq!((of("", "").kind(), of("", "").uid()), ("", ""));
    }
}
