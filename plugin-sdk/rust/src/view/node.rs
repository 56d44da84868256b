use serde::Deserialize;

use super::{Groups, Placed};
use crate::{JsonError, door::Door};

/// One node of the request.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    door: Door<'a>,
    index: u32,
}

/// All nodes of the request.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    door: Door<'a>,
    count: u32,
}

/// A taint of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taint<'a> {
    /// The taint's key.
    pub key: &'a str,
    /// Its value; empty if it has none.
    pub value: &'a str,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: &'a str,
}

// === impl Node ===

impl<'a> Node<'a> {
    pub(crate) fn new(door: Door<'a>, index: u32) -> Self {
        Self { door, index }
    }

    /// `metadata.name`.
    pub fn name(&self) -> &'a str {
        self.door.node_name(self.index)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.door.node_label(self.index, key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.door.node_annotation(self.index, key)
    }

    /// `spec.taints`.
    pub fn taints(&self) -> Vec<Taint<'a>> {
        self.door.node_taints(self.index)
    }

    /// What the node has of a resource: cpu in millicores, all else in base units; 0 if none.
    pub fn allocatable(&self, resource: &str) -> i64 {
        self.door.node_allocatable(self.index, resource)
    }

    /// What the placed pods request of a resource; none where the host has no view of pods.
    pub fn requested(&self, resource: &str) -> Option<i64> {
        self.door.node_requested(self.index, resource)
    }

    /// Bytes of an image that the node has pulled; none if it has not.
    pub fn image_size(&self, image: &str) -> Option<u64> {
        self.door.node_image_size(self.index, image)
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/status/nodeInfo/kernelVersion`.
    ///
    /// # Errors
    /// If what is there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }

    /// The JSON text at an RFC 6901 pointer into the whole object.
    pub fn field_text(&self, pointer: &str) -> Option<&'a str> {
        self.door.node_field(self.index, pointer)
    }

    /// The pods placed on the node, or being bound to it; none where the host has no view of pods.
    pub fn placed(&self) -> impl ExactSizeIterator<Item = Placed<'a>> + use<'a> {
        let (door, node) = (self.door, self.index);
        (0..door.placed_count(node) as usize).map(move |pod| Placed::new(door, node, pod as u32))
    }

    /// How many pods of a namespace, placed here, carry a label with this value; quicker than [`Node::placed`].
    pub fn count_labelled(&self, namespace: &str, key: &str, value: &str) -> u32 {
        self.door.placed_count_labelled(self.index, namespace, key, value)
    }
}

// === impl Nodes ===

impl<'a> Nodes<'a> {
    pub(crate) fn new(door: Door<'a>) -> Self {
        Self { door, count: door.node_count() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Node<'a>> + use<'a> {
        let door = self.door;
        (0..self.len()).map(move |node| Node::new(door, node as u32))
    }

    /// The nodes by the value of a label; quicker than to read the label of each.
    pub fn by_label(&self, key: &str) -> Groups<'a> {
        self.door.node_by_label(key)
    }

    /// [`Node::count_labelled`] of each node, in order; quicker than to ask each.
    pub fn count_labelled(&self, namespace: &str, key: &str, value: &str) -> Vec<u32> {
        self.door.placed_counts_labelled(namespace, key, value)
    }
}
