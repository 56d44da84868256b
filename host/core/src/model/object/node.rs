//! A node as policies can read it.

mod wire;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub use self::wire::Taint;
use self::wire::{NodeJson, SpecJson, StatusJson, other_names, statuses};
use super::{
    Entries, ObjectError, Quantities, at_pointer,
    image::{ImageName, Images, LazyImages},
    parse, steady,
};
use crate::model::stamp::stamp;

/// One node.
#[derive(Debug)]
pub struct Node {
    name: Arc<str>,
    labels: Entries,
    annotations: Entries,
    taints: Box<[Taint]>,
    allocatable: Quantities,
    capacity: Quantities,
    /// The status of each condition.
    conditions: Entries,
    unschedulable: bool,
    /// The addresses that are not its name.
    addresses: Box<[Box<str>]>,
    /// The whole object; images and fields are found in it when they are asked for.
    json: Bytes,
    images: LazyImages,
    /// The object without the fields that a heartbeat changes, where `json` has those too.
    steady: OnceLock<Box<str>>,
    /// Whether `json` has none of these fields.
    is_steady: bool,
    /// No two records that differ have one.
    stamp: u64,
}

// === impl Node ===

impl Node {
    /// Reads the JSON of one Node.
    ///
    /// # Errors
    /// If it is not JSON, has no name, or a field that policies read has another type.
    pub fn from_json(json: Bytes) -> Result<Self, ObjectError> {
        let wire: NodeJson<'_> = parse("Node", &json)?;
        if wire.metadata.name.is_empty() {
            return Err(ObjectError::new("Node", "has no metadata.name"));
        }
        let SpecJson { taints, unschedulable } = wire.spec.unwrap_or_default();
        let StatusJson { allocatable, capacity, conditions, addresses } = wire.status.unwrap_or_default();
        let addresses = other_names(addresses.unwrap_or_default(), &wire.metadata.name);
        let (taints, conditions) = (taints.unwrap_or_default(), statuses(conditions.unwrap_or_default()));
        Ok(Self {
            name: Arc::from(wire.metadata.name.as_ref()),
            labels: wire.metadata.labels,
            annotations: wire.metadata.annotations,
            taints,
            allocatable,
            capacity,
            conditions,
            unschedulable: unschedulable.unwrap_or(false),
            addresses,
            json,
            images: LazyImages::unread(),
            steady: OnceLock::new(),
            is_steady: false,
            stamp: stamp(),
        })
    }

    /// Reads the JSON of one Node, and keeps none of the fields that a heartbeat changes.
    ///
    /// Two nodes that differ in nothing else have the same [`Node::json`].
    ///
    /// # Errors
    /// As for [`Node::from_json`].
    pub fn steady_from_json(json: &[u8]) -> Result<Self, ObjectError> {
        let text = std::str::from_utf8(json).map_err(|error| ObjectError::invalid("Node", error))?;
        let text = steady::steady(text).map_err(|error| ObjectError::invalid("Node", error))?;
        let node = Self::from_json(Bytes::from(text.into_boxed_str().into_boxed_bytes()))?;
        Ok(Self { is_steady: true, ..node }.prepared())
    }

    /// The same node with all at hand that is otherwise found in its text by the first who asks.
    ///
    /// For nodes that are read in the background, so that no request waits for it.
    #[must_use]
    pub fn prepared(self) -> Self {
        self.images();
        self
    }

    /// `metadata.name`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Entries {
        &self.labels
    }

    /// `metadata.annotations`.
    pub fn annotations(&self) -> &Entries {
        &self.annotations
    }

    /// `spec.taints`.
    pub fn taints(&self) -> &[Taint] {
        &self.taints
    }

    /// `status.allocatable`.
    pub fn allocatable(&self) -> &Quantities {
        &self.allocatable
    }

    /// `status.capacity`.
    pub fn capacity(&self) -> &Quantities {
        &self.capacity
    }

    /// The status of each of `status.conditions`, by its type.
    pub fn conditions(&self) -> &Entries {
        &self.conditions
    }

    /// `spec.unschedulable`, false if absent.
    pub fn unschedulable(&self) -> bool {
        self.unschedulable
    }

    /// The addresses of `status.addresses` that are not its name.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.addresses.iter().map(AsRef::as_ref)
    }

    /// The bytes that the object was read from.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// About how many bytes it takes: its text may stand here twice, and its fields are shorter than the text.
    pub(crate) fn heap_bytes(&self) -> usize {
        3 * self.json.len()
    }

    /// Tells this record from every other that differs from it.
    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// JSON text at an RFC 6901 pointer, without the fields that a heartbeat changes (`managedFields`,
    /// `resourceVersion`, the `lastHeartbeatTime` of conditions), and without `kind` and `apiVersion`.
    pub fn field(&self, pointer: &str) -> Option<&str> {
        let is_own_text = self.is_steady || !steady::may_differ(pointer);
        at_pointer(if is_own_text { self.text() } else { self.steady() }, pointer)
    }

    /// Bytes of a pulled image; none if the node has not pulled it.
    pub fn image_size(&self, image: ImageName) -> Option<u64> {
        self.images().size(image)
    }

    fn steady(&self) -> &str {
        // `from_json` refuses text that is not JSON.
        self.steady.get_or_init(|| steady::steady(self.text()).unwrap_or_default().into())
    }

    fn text(&self) -> &str {
        // `from_json` refuses bytes that are not UTF-8.
        std::str::from_utf8(&self.json).unwrap_or_default()
    }

    fn images(&self) -> &Images {
        self.images.get(|| self.field("/status/images").map(Images::of).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(json: &'static str) -> Result<Node, ObjectError> {
        Node::from_json(Bytes::from_static(json.as_bytes()))
    }

    #[test]
    fn a_node_is_read_from_the_apis_json() {
        let node = node(
            r#"{"metadata":{"name":"n1","labels":{"zone":"a"},"annotations":null,"managedFields":[{}]},
                "spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule"}]},
                "status":{"allocatable":{"cpu":"3920m","memory":"16Gi","pods":"110"},"capacity":{"cpu":"4"},
                          "addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"n1"},
                                       {"type":"ExternalIP","address":"10.0.0.1"},null,{"type":"InternalDNS"}],
                          "conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"},null,
                                        {"type":"MemoryPressure"},{"status":"True"},{"type":"Wi\u0046i","status":"Unknown"}],
                          "images":[{"names":["nginx","r/x@sha256:1"],"sizeBytes":5},{"names":null}]}}"#,
        )
        .unwrap();
        assert_eq!(node.name().as_ref(), "n1");
        assert_eq!(node.labels().get("zone"), Some("a"));
        assert_eq!(node.taints()[0].effect.as_ref(), "NoSchedule");
        assert_eq!(node.allocatable().get("cpu"), 3920);
        assert_eq!(node.allocatable().get("memory"), 16 << 30);
        assert_eq!(node.allocatable().get("absent"), 0);
        assert_eq!((node.capacity().get("cpu"), node.capacity().get("memory")), (4000, 0));
        assert_eq!(node.conditions().iter().collect::<Vec<_>>(), [("Ready", "True"), ("WiFi", "Unknown")]);
        assert!(node.unschedulable());
        assert_eq!(node.addresses().collect::<Vec<_>>(), ["10.0.0.1"], "each once, and not the name");
        assert_eq!(node.image_size(ImageName::of("nginx:latest")), Some(5));
        assert_eq!(node.image_size(ImageName::of("nginx")), Some(5));
        assert_eq!(node.image_size(ImageName::of("r/x@sha256:1")), Some(5));
        assert_eq!(node.image_size(ImageName::of("other")), None);
        assert_eq!(node.field("/spec/taints/0/key"), Some("\"k\""));
    }

    #[test]
    fn no_field_shows_what_a_heartbeat_changes() {
        let json = r#"{"metadata":{"name":"n","resourceVersion":"7","managedFields":[]},
            "status":{"conditions":[{"type":"Ready","lastHeartbeatTime":"t"}]}}"#;
        let steady = Node::steady_from_json(json.as_bytes()).unwrap();
        for node in [node(json).unwrap(), steady] {
            assert_eq!(node.field("/metadata"), Some(r#"{"name":"n"}"#));
            assert_eq!(node.field("/metadata/resourceVersion"), None);
            assert_eq!(node.field("/status/conditions/0"), Some(r#"{"type":"Ready"}"#));
            assert_eq!(node.field("/status/conditions/0/lastHeartbeatTime"), None);
            assert!(!node.field("").unwrap().contains("managedFields"));
        }
    }

    #[test]
    fn nodes_that_differ_by_a_heartbeat_have_one_steady_text() {
        let at = |version: u32| {
            let json = format!(
                r#"{{"metadata":{{"name":"n","resourceVersion":"{version}"}},"status":{{"conditions":[{{"lastHeartbeatTime":"{version}"}}]}}}}"#
            );
            Node::steady_from_json(json.as_bytes()).unwrap()
        };
        assert_eq!(at(1).json(), at(2).json());
        assert!(Node::steady_from_json(b"[]").is_err());
        assert!(Node::steady_from_json(b"{").is_err());
    }

    #[test]
    fn what_is_no_object_or_no_text_is_refused() {
        for json in ["[]", r#"[["n1"]]"#, "null", "\"n1\"", "", "{"] {
            assert!(node(json).is_err(), "{json}");
        }
        let latin1 = Bytes::from_static(b"{\"metadata\":{\"name\":\"n\"},\"x\":\"\xe9\"}");
        assert!(Node::from_json(latin1).unwrap_err().to_string().contains("utf-8"));
    }

    #[test]
    fn a_node_without_a_name_is_refused() {
        let error = node(r#"{"metadata":{"labels":{}}}"#).unwrap_err();
        assert_eq!(error.to_string(), "Node has no metadata.name");
        assert!(node("{}").unwrap_err().to_string().contains("metadata"));
        assert!(node(r#"{"metadata":{"name":7}}"#).is_err());
        assert!(node(r#"{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"lots"}}}"#).is_err());
    }
}
