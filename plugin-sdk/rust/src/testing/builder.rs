//! Pods and nodes in a few words; the builders make the API's JSON.

use serde_json::{Value, json};

/// A pod in the making.
#[derive(Debug, Clone)]
pub struct PodBuilder(pub(super) Value);

/// A node in the making.
#[derive(Debug, Clone)]
pub struct NodeBuilder(pub(super) Value);

/// A pod with this name, in the namespace `default`.
pub fn pod(name: &str) -> PodBuilder {
    PodBuilder(json!({"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": []}}))
}

/// A node with this name.
pub fn node(name: &str) -> NodeBuilder {
    NodeBuilder(json!({"metadata": {"name": name}, "spec": {}, "status": {}}))
}

// === impl PodBuilder ===

impl PodBuilder {
    /// Sets `metadata.namespace`.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0["metadata"]["namespace"] = namespace.into();
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    /// Sets when it was created, such as `2026-01-31T12:00:00Z`.
    #[must_use]
    pub fn created(mut self, at: &str) -> Self {
        self.0["metadata"]["creationTimestamp"] = at.into();
        self
    }

    /// Sets `spec.priority`.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.0["spec"]["priority"] = priority.into();
        self
    }

    /// Sets `spec.priorityClassName`.
    #[must_use]
    pub fn priority_class(mut self, name: &str) -> Self {
        self.0["spec"]["priorityClassName"] = name.into();
        self
    }

    /// Adds the owner that controls it, such as `apps/v1`, `ReplicaSet` and `web`; its UID is made of kind and name.
    #[must_use]
    pub fn controller(mut self, api_version: &str, kind: &str, name: &str) -> Self {
        let uid = format!("{kind}/{name}");
        let owner = json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true});
        push(&mut self.0["metadata"]["ownerReferences"], owner);
        self
    }

    /// Sets `status.phase`, such as `Running`.
    #[must_use]
    pub fn phase(mut self, phase: &str) -> Self {
        self.0["status"]["phase"] = phase.into();
        self
    }

    /// Lets it terminate: it has a `metadata.deletionTimestamp`.
    #[must_use]
    pub fn terminating(mut self) -> Self {
        self.0["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z".into();
        self
    }

    /// Adds a container that requests an amount of a resource, such as `cpu` and `500m`.
    #[must_use]
    pub fn request(self, resource: &str, quantity: &str) -> Self {
        self.container(json!({"resources": {"requests": {resource: quantity}}}))
    }

    /// Adds a container of an image.
    #[must_use]
    pub fn image(self, image: &str) -> Self {
        self.container(json!({"image": image}))
    }

    /// Places it on a node, for [`World::placed`](super::World::placed).
    #[must_use]
    pub fn on(mut self, node: &str) -> Self {
        self.0["spec"]["nodeName"] = node.into();
        self
    }

    fn container(mut self, container: Value) -> Self {
        push(&mut self.0["spec"]["containers"], container);
        self
    }
}

// === impl NodeBuilder ===

impl NodeBuilder {
    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["labels"][key] = value.into();
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][key] = value.into();
        self
    }

    /// Adds a taint.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        push(&mut self.0["spec"]["taints"], json!({"key": key, "value": value, "effect": effect}));
        self
    }

    /// Sets the allocatable amount of a resource, such as `memory` and `16Gi`.
    #[must_use]
    pub fn allocatable(mut self, resource: &str, quantity: &str) -> Self {
        self.0["status"]["allocatable"][resource] = quantity.into();
        self
    }

    /// Sets the amount of a resource on the machine, with the part that the system keeps for itself.
    #[must_use]
    pub fn capacity(mut self, resource: &str, quantity: &str) -> Self {
        self.0["status"]["capacity"][resource] = quantity.into();
        self
    }

    /// Adds a condition, such as `MemoryPressure` with the status `True`.
    #[must_use]
    pub fn condition(mut self, kind: &str, status: &str) -> Self {
        push(&mut self.0["status"]["conditions"], json!({"type": kind, "status": status}));
        self
    }

    /// Cordons it.
    #[must_use]
    pub fn unschedulable(mut self) -> Self {
        self.0["spec"]["unschedulable"] = true.into();
        self
    }

    /// Adds an image that it has pulled.
    #[must_use]
    pub fn image(mut self, name: &str, bytes: u64) -> Self {
        push(&mut self.0["status"]["images"], json!({"names": [name], "sizeBytes": bytes}));
        self
    }
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        none => *none = json!([item]),
    }
}
