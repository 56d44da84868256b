//! The watched resources: how they are requested, and how their objects are read.

use plimsoll_core::{Namespace, Node, Pod};
use serde_json::{Value, json};

/// One of the resources. Another one needs a line in each table below, and its objects a place in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    Nodes,
    Pods,
    /// Policies may read their labels. The gateway works without them, and where it may not list them.
    Namespaces,
}

/// An object of a resource, as far as it can be read.
pub(super) enum WatchedObject {
    Node(Node),
    Pod(Pod),
    Namespace(Namespace),
    Unreadable(UnreadableObject),
}

/// An object that cannot be read: its last known state is no longer valid.
#[derive(Debug)]
pub(super) struct UnreadableObject {
    pub(super) resource: Resource,
    pub(super) namespace: String,
    /// Empty if even the name cannot be read.
    pub(super) name: String,
    pub(super) why: String,
    /// Of a pod: its name, UID, and node if that can be read.
    pub(super) pod: Option<Pod>,
}

// === impl Resource ===

impl Resource {
    pub(super) const ALL: [Self; 3] = [Self::Nodes, Self::Pods, Self::Namespaces];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
        }
    }

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::Pods => "/api/v1/pods",
            Self::Namespaces => "/api/v1/namespaces",
        }
    }

    /// Pending and finished pods are not sent; a pod that is bound or ends is sent as added or deleted.
    pub(super) fn selector(self) -> Option<String> {
        (self == Self::Pods).then(|| "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned())
    }

    /// Whether the first cluster needs its list; without it, a list that failed is not waited for.
    pub(super) fn is_required(self) -> bool {
        self != Self::Namespaces
    }

    /// Reads an object; keeps only the parts of its text that a policy may read.
    pub(super) fn read(self, json: &str) -> WatchedObject {
        let read = match self {
            Self::Nodes => Node::steady_from_json(json.as_bytes()).map(WatchedObject::Node),
            Self::Pods => Pod::placed_from_json(json.as_bytes()).map(WatchedObject::Pod),
            Self::Namespaces => Namespace::from_json(json.as_bytes()).map(WatchedObject::Namespace),
        };
        read.unwrap_or_else(|error| WatchedObject::Unreadable(UnreadableObject::of(self, json, error.to_string())))
    }
}

// === impl UnreadableObject ===

impl UnreadableObject {
    pub(super) fn of(resource: Resource, json: &str, why: String) -> Self {
        let json: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |pointer| json.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let pod = || {
            let metadata = json!({"namespace": namespace, "name": name, "uid": text("/metadata/uid")});
            let pod = json!({"metadata": metadata, "spec": {"nodeName": text("/spec/nodeName")}}).to_string();
            Pod::placed_from_json(pod.as_bytes()).ok()
        };
        let pod = if resource == Resource::Pods && !name.is_empty() { pod() } else { None };
        Self { resource, namespace, name, why, pod }
    }

    /// The name, with the namespace if it has one.
    pub(super) fn full_name(&self) -> String {
        match (self.namespace.as_str(), self.name.as_str()) {
            (_, "") => "one without a name".to_owned(),
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        }
    }
}
