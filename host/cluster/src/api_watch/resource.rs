//! The watched resources: how they are requested, and how their objects are read.

use std::{fmt::Display, sync::Arc};

use plimsoll_core::{Claim, DeviceClass, Namespace, Node, ObjectError, Pod, WaitingPod};
use serde_json::{Value, json};
use tracing::warn;

/// One of the resources. Another one needs a line in each table below, and its objects a place in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Nodes,
    Pods,
    /// Pods without a node; those that are nominated count on their node. The gateway works without them.
    Waiting,
    /// Policies may read their labels. The gateway works without them, and where it may not list them.
    Namespaces,
    /// Resources that DRA provides. The gateway works without them, and where the API server has no such resource.
    DeviceClasses,
    /// Whether they are bound. The gateway works without them, and where it may not list them.
    Claims,
}

/// An object of a resource. If it cannot be read, only its identity is kept, and a pod's node.
pub(crate) enum WatchedObject {
    /// By name; none: it cannot be read.
    Node(Arc<str>, Option<Node>),
    /// Whether it can be read.
    Pod(Pod, bool),
    /// By UID, and if it is nominated, also as a placed pod; none: it cannot be read.
    Waiting(Box<str>, Option<(WaitingPod, Option<Pod>)>),
    /// By name; none: it cannot be read.
    Namespace(Arc<str>, Option<Namespace>),
    /// By name; none: it cannot be read.
    DeviceClass(Arc<str>, Option<DeviceClass>),
    /// One that cannot be read counts as not bound.
    Claim(Claim),
}

// === impl Resource ===

impl Resource {
    pub(super) const ALL: [Self; 6] =
        [Self::Nodes, Self::Pods, Self::Waiting, Self::Namespaces, Self::DeviceClasses, Self::Claims];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Waiting => "waiting pods",
            Self::Namespaces => "namespaces",
            Self::DeviceClasses => "deviceclasses",
            Self::Claims => "claims",
        }
    }

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Nodes => "/api/v1/nodes",
            Self::Pods | Self::Waiting => "/api/v1/pods",
            Self::Namespaces => "/api/v1/namespaces",
            // Before Kubernetes 1.34 there is no v1, and no class provides a resource.
            Self::DeviceClasses => "/apis/resource.k8s.io/v1/deviceclasses",
            Self::Claims => "/api/v1/persistentvolumeclaims",
        }
    }

    /// Finished pods are not sent; a pod that ends is sent as deleted, and one that is bound as deleted here and added
    /// there.
    pub(super) fn selector(self) -> Option<String> {
        match self {
            Self::Pods => Some("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed".to_owned()),
            Self::Waiting => Some("spec.nodeName=,status.phase!=Succeeded,status.phase!=Failed".to_owned()),
            Self::Nodes | Self::Namespaces | Self::DeviceClasses | Self::Claims => None,
        }
    }

    /// Whether the API server is to send the metadata of the objects alone.
    pub(super) fn is_metadata(self) -> bool {
        self == Self::Claims
    }

    /// Whether the first cluster needs its list; without it, a list that failed is not waited for.
    pub(super) fn is_required(self) -> bool {
        matches!(self, Self::Nodes | Self::Pods)
    }

    /// Reads an object; keeps only the parts of its text that a policy may read.
    pub(super) fn read(self, json: &str) -> WatchedObject {
        match self {
            Self::Nodes => match Node::steady_from_json(json.as_bytes()) {
                Ok(node) => WatchedObject::Node(Arc::clone(node.name()), Some(node)),
                Err(error) => WatchedObject::Node(self.identity(json, &error).name().into(), None),
            },
            Self::Pods => match Pod::placed_from_json(json.as_bytes()) {
                Ok(pod) => WatchedObject::Pod(pod, true),
                Err(error) => WatchedObject::Pod(self.identity(json, &error), false),
            },
            Self::Waiting => match read_waiting(json) {
                Ok(read) => WatchedObject::Waiting(read.0.pod.uid().into(), Some(read)),
                Err(error) => WatchedObject::Waiting(self.identity(json, &error).uid().into(), None),
            },
            Self::Namespaces => match Namespace::from_json(json.as_bytes()) {
                Ok(namespace) => WatchedObject::Namespace(Arc::clone(namespace.name()), Some(namespace)),
                Err(error) => WatchedObject::Namespace(self.identity(json, &error).name().into(), None),
            },
            Self::DeviceClasses => match DeviceClass::from_json(json.as_bytes()) {
                Ok(class) => WatchedObject::DeviceClass(Arc::clone(class.name()), Some(class)),
                Err(error) => WatchedObject::DeviceClass(self.identity(json, &error).name().into(), None),
            },
            Self::Claims => WatchedObject::Claim(Claim::from_json(json.as_bytes()).unwrap_or_else(|error| {
                let own = self.identity(json, &error);
                Claim::unbound(own.namespace(), own.name())
            })),
        }
    }

    /// The identity of an object that cannot be read, as a pod; of a pod also its node.
    fn identity(self, json: &str, error: &dyn Display) -> Pod {
        let json: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |pointer| json.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        warn!(resource = self.name(), namespace, name, %error, "an object cannot be read: neither it nor its node is in view");
        let metadata = json!({"namespace": namespace, "name": name, "uid": text("/metadata/uid")});
        let pod = json!({"metadata": metadata, "spec": {"nodeName": text("/spec/nodeName")}}).to_string();
        Pod::placed_from_json(pod.as_bytes()).unwrap_or_default()
    }
}

/// A pod without a node; if it is nominated, also as a placed pod.
fn read_waiting(json: &str) -> Result<(WaitingPod, Option<Pod>), ObjectError> {
    let waiting = WaitingPod::from_json(json)?;
    let nominated = waiting.nominated.as_ref().map(|_| Pod::placed_from_json(json.as_bytes())).transpose()?;
    Ok((waiting, nominated))
}
