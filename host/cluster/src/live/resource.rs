//! What is watched: how it is asked for, and how its objects are put into the store.

use plimsoll_core::{Node, ObjectError, Pod};

use super::{store::Store, wire::EventKind};

/// One of the two resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Nodes,
    Pods,
}

/// An object of the resource, read.
pub(super) enum Object {
    Node(Node),
    Pod(Pod),
}

// === impl Resource ===

impl Resource {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
        }
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::Pods => "/api/v1/pods",
        }
    }

    /// Pods that wait, or have ended, are not sent; one that gets there or ends is sent as added or deleted.
    pub(super) fn selector(self) -> Option<String> {
        match self {
            Self::Nodes => None,
            Self::Pods => Some("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned()),
        }
    }

    /// Reads an object; keeps nothing of its text but what a policy may read.
    pub(super) fn read(self, json: &str) -> Result<Object, ObjectError> {
        match self {
            Self::Nodes => Node::steady_from_json(json.as_bytes()).map(Object::Node),
            Self::Pods => Pod::placed_from_json(json.as_bytes()).map(Object::Pod),
        }
    }
}

// === impl Object ===

impl Object {
    /// Puts it into the store as it is now, or takes it out.
    pub(super) fn apply(self, kind: EventKind, store: &mut Store) {
        match (self, kind) {
            (Self::Node(node), EventKind::Deleted) => store.remove_node(node.name()),
            (Self::Pod(pod), EventKind::Deleted) => store.remove_pod(&pod),
            (Self::Node(node), _) => store.put_node(node),
            (Self::Pod(pod), _) => store.put_pod(pod),
        }
    }
}
