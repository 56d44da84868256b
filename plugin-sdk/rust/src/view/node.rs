use serde::Deserialize;

use super::Placed;
use crate::{JsonError, door::Door};

/// One node of the request.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    pub(super) door: Door<'a>,
    pub(super) node: u32,
}

/// All nodes of the request.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    pub(super) door: Door<'a>,
    count: u32,
}

// === impl Node ===

impl<'a> Node<'a> {
    pub(crate) fn new(door: Door<'a>, node: u32) -> Self {
        Self { door, node }
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/status/nodeInfo/kernelVersion`.
    ///
    /// # Errors
    /// If the value there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }

    /// The pods placed on the node, or being bound to it; none where the host has no view of pods.
    pub fn placed(&self) -> impl ExactSizeIterator<Item = Placed<'a>> + use<'a> {
        let (door, node) = (self.door, self.node);
        (0..door.placed_count(node) as usize).map(move |pod| Placed::new(door, node, pod as u32))
    }
}

// === impl Nodes ===

impl<'a> Nodes<'a> {
    pub(crate) fn new(door: Door<'a>) -> Self {
        Self { door, count: door.nodes_count() }
    }

    /// The number of nodes.
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
}
