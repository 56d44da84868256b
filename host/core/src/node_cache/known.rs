//! Nodes of earlier requests, to compare those of the next with.

use std::sync::Arc;

use crate::{Cluster, Node};

/// The text before a node's name. It is looked for in the first 4 KiB of the node's JSON: Go writes `metadata` first
/// and `name` first in it; others sort the keys, and labels and annotations come before.
const BEFORE_NAME: &[u8] = b"\"name\":\"";
const NAME_WITHIN: usize = 4096;

/// The nodes that earlier requests brought whole, by slot.
///
/// The reader of a request compares each node with the one that is expected next, and searches only where that is not
/// the one.
#[derive(Debug, Default, Clone)]
pub struct KnownNodes(Arc<Cluster>);

// === impl KnownNodes ===

impl KnownNodes {
    pub(super) const fn new(cluster: Arc<Cluster>) -> Self {
        Self(cluster)
    }

    /// The nodes as a snapshot of a cluster.
    pub const fn cluster(&self) -> &Arc<Cluster> {
        &self.0
    }

    /// The node of a slot.
    #[inline]
    pub fn node(&self, slot: u32) -> Option<&Arc<Node>> {
        self.0.slots().get(slot as usize).map(|slot| &slot.node)
    }

    /// The slot of the node that most likely has this JSON, by its name.
    pub fn find(&self, json: &[u8]) -> Option<u32> {
        if self.0.slots().is_empty() {
            return None;
        }
        self.0.find(name_in(json)?)
    }

    /// The node with this JSON.
    pub fn by_json(&self, json: &[u8]) -> Option<&Arc<Node>> {
        // The name only finds the place: the bytes decide.
        self.node(self.find(json)?).filter(|node| node.json() == json)
    }
}

/// The text that is most likely the name of a node.
fn name_in(json: &[u8]) -> Option<&str> {
    let start = &json[..json.len().min(NAME_WITHIN)];
    let at = start.windows(BEFORE_NAME.len()).position(|window| window == BEFORE_NAME)? + BEFORE_NAME.len();
    let name = &json[at..];
    std::str::from_utf8(name.split(|byte| *byte == b'"').next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_where_kube_scheduler_writes_it() {
        let table = [
            (r#"{"metadata":{"name":"n1","uid":"u"}}"#, Some("n1")),
            (r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}"#, Some("n1")),
            (r#"{"metadata":{"labels":{"a":"b"},"name":"n1"}}"#, Some("n1")),
            (r#"{"metadata":{"name":""#, Some("")),
            (r"{}", None),
            ("", None),
        ];
        for (json, expected) in table {
            assert_eq!(name_in(json.as_bytes()), expected, "{json}");
        }
    }
}
