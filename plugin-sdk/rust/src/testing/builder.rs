//! Pods and nodes in a few words; what they make is the API's own JSON.

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

    /// Sets what it has of a resource, such as `memory` and `16Gi`.
    #[must_use]
    pub fn allocatable(mut self, resource: &str, quantity: &str) -> Self {
        self.0["status"]["allocatable"][resource] = quantity.into();
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
