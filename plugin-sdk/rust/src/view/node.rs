use serde::Deserialize;

use super::Placed;
use crate::{JsonError, host_calls::HostCalls};

/// One node of the request.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    pub(super) host: HostCalls<'a>,
    pub(super) node: u32,
}

/// All nodes of the request.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    pub(super) host: HostCalls<'a>,
    count: u32,
}

// === impl Node ===

impl<'a> Node<'a> {
    pub(crate) fn new(host: HostCalls<'a>, node: u32) -> Self {
        Self { host, node }
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/status/nodeInfo/kernelVersion`.
    ///
    /// # Errors
    /// If the value there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }

    /// The amount of a resource that the pods on the node leave: cpu in millicores, all else in base units.
    ///
    /// # Errors
    /// The reason why there is none: the pods are not known, or the resource is not (see [`Node::resource_known`]), which
    /// kube-scheduler checks itself.
    pub fn free(&self, name: &str) -> Result<i64, &'static str> {
        if !self.resource_known(name) {
            return Err("DRA provides the resource on the node, and a policy cannot count its devices");
        }
        let requested = self.requested(name).ok_or("the pods on the node are not known")?;
        Ok(self.allocatable(name).saturating_sub(requested))
    }

    /// The pods placed on the node, or being bound to it; none where the host has no view of pods.
    pub fn placed(&self) -> impl ExactSizeIterator<Item = Placed<'a>> + use<'a> {
        let (host, node) = (self.host, self.node);
        (0..host.placed_count(node) as usize).map(move |pod| Placed::new(host, node, pod as u32))
    }
}

// === impl Nodes ===

impl<'a> Nodes<'a> {
    pub(crate) fn new(host: HostCalls<'a>) -> Self {
        Self { host, count: host.nodes_count() }
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
        let host = self.host;
        (0..self.len()).map(move |node| Node::new(host, node as u32))
    }
}
