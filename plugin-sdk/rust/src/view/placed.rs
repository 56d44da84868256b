use crate::door::Door;

/// A pod placed on a node, or being bound to it.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    door: Door<'a>,
    node: u32,
    pod: u32,
}

// === impl Placed ===

impl<'a> Placed<'a> {
    pub(crate) fn new(door: Door<'a>, node: u32, pod: u32) -> Self {
        Self { door, node, pod }
    }

    /// Its index among the pods of its node.
    pub(crate) fn index(&self) -> u32 {
        self.pod
    }

    /// `metadata.name`.
    pub fn name(&self) -> &'a str {
        self.door.placed_name(self.node, self.pod)
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &'a str {
        self.door.placed_namespace(self.node, self.pod)
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.door.placed_label(self.node, self.pod, key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.door.placed_annotation(self.node, self.pod, key)
    }

    /// `spec.priority`, 0 if absent.
    pub fn priority(&self) -> i32 {
        self.door.placed_priority(self.node, self.pod)
    }

    /// As [`Pod::request`](crate::Pod::request).
    pub fn request(&self, resource: &str) -> i64 {
        self.door.placed_request(self.node, self.pod, resource)
    }

    /// When the pod was created, in Unix seconds; none if that is unknown.
    pub fn created(&self) -> Option<u64> {
        Some(self.door.placed_created(self.node, self.pod)).filter(|created| *created != 0)
    }
}
