//! The watched resources: how they are requested, and how their objects get into the store.

use std::borrow::Cow;

use plimsoll_core::{Namespace, Node, ObjectError, Pod};
use serde_json::json;

use super::{
    store::ClusterStore,
    wire::{self, EventKind},
};

/// One of the resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Nodes,
    Pods,
    /// Policies may read their labels. The gateway works without them, and where it may not list them.
    Namespaces,
}

/// An object of the resource, read.
pub(super) enum WatchedObject {
    Node(Node),
    Pod(Pod),
    Namespace(Namespace),
    /// A Namespace that cannot be read, by its name.
    UnreadableNamespace(Box<str>),
    /// A Node that cannot be read, by its name.
    UnreadableNode(Box<str>),
    /// A pod that cannot be read, with its name, UID and node alone.
    UnreadablePod(Pod),
}

// === impl Resource ===

impl Resource {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
        }
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::Pods => "/api/v1/pods",
            Self::Namespaces => "/api/v1/namespaces",
        }
    }

    /// Pending and finished pods are not sent; a pod that is bound or ends is sent as added or deleted.
    pub(super) fn selector(self) -> Option<String> {
        match self {
            Self::Nodes | Self::Namespaces => None,
            Self::Pods => Some("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned()),
        }
    }

    /// Reads an object; keeps only the parts of its text that a policy may read.
    pub(super) fn read(self, json: &str) -> Result<WatchedObject, ObjectError> {
        match self {
            Self::Nodes => Node::steady_from_json(json.as_bytes()).map(WatchedObject::Node),
            Self::Pods => Pod::placed_from_json(json.as_bytes()).map(WatchedObject::Pod),
            Self::Namespaces => Namespace::from_json(json.as_bytes()).map(WatchedObject::Namespace),
        }
    }

    /// The readable rest of an object that cannot be read; `None` if it has not even a name.
    pub(super) fn unreadable(self, json: &str) -> Option<WatchedObject> {
        let metadata = serde_json::from_str::<wire::AnyObject<'_>>(json).ok()?.metadata;
        let bound = serde_json::from_str::<wire::BoundPod<'_>>(json);
        self.unreadable_with(&metadata, bound.as_ref().map_or("", |pod| &pod.spec.node_name))
    }

    /// The same from only the metadata, with the node if it is known.
    pub(super) fn unreadable_with(self, metadata: &wire::WireMetadata<'_>, node: &str) -> Option<WatchedObject> {
        let wire::WireMetadata { namespace, name, uid, .. } = metadata;
        if name.is_empty() {
            return None;
        }
        match self {
            Self::Nodes => Some(WatchedObject::UnreadableNode(name.as_ref().into())),
            Self::Namespaces => Some(WatchedObject::UnreadableNamespace(name.as_ref().into())),
            Self::Pods => {
                let metadata = json!({"namespace": namespace, "name": name, "uid": uid});
                let pod = json!({"metadata": metadata, "spec": {"nodeName": node}}).to_string();
                Pod::placed_from_json(pod.as_bytes()).ok().map(WatchedObject::UnreadablePod)
            }
        }
    }
}

// === impl WatchedObject ===

impl WatchedObject {
    /// The name, with the namespace if it has one.
    pub(super) fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Node(node) => Cow::Borrowed(node.name()),
            Self::Namespace(namespace) => Cow::Borrowed(namespace.name()),
            Self::UnreadableNode(name) | Self::UnreadableNamespace(name) => Cow::Borrowed(name),
            Self::Pod(pod) | Self::UnreadablePod(pod) => Cow::Owned(format!("{}/{}", pod.namespace(), pod.name())),
        }
    }

    /// Puts it into the store as it is now, or takes it out.
    pub(super) fn apply(self, kind: EventKind, store: &mut ClusterStore) {
        match (self, kind) {
            (Self::Node(node), EventKind::Deleted) => store.remove_node(node.name()),
            // Without its record it is not in view: nothing is placed on it until it can be read again.
            (Self::UnreadableNode(name), _) => store.remove_node(&name),
            (Self::Pod(pod) | Self::UnreadablePod(pod), EventKind::Deleted) => store.remove_pod(&pod),
            (Self::UnreadablePod(pod), _) => store.put_unreadable_pod(pod),
            (Self::Namespace(namespace), EventKind::Deleted) => store.remove_namespace(namespace.name()),
            (Self::UnreadableNamespace(name), _) => store.remove_namespace(&name),
            (Self::Namespace(namespace), _) => store.put_namespace(namespace),
            (Self::Node(node), _) => store.put_node(node),
            (Self::Pod(pod), _) => store.put_pod(pod),
        }
    }
}
