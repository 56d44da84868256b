use serde::Deserialize;

use crate::{JsonError, door::Door};

/// The pod being scheduled.
#[derive(Debug, Clone, Copy)]
pub struct Pod<'a> {
    door: Door<'a>,
}

// === impl Pod ===

impl<'a> Pod<'a> {
    pub(crate) fn new(door: Door<'a>) -> Self {
        Self { door }
    }

    /// `metadata.name`.
    pub fn name(&self) -> &'a str {
        self.door.pod_name()
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> &'a str {
        self.door.pod_namespace()
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &'a str {
        self.door.pod_uid()
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        self.door.pod_label(key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.door.pod_annotation(key)
    }

    /// `spec.priority`, 0 if absent.
    pub fn priority(&self) -> i32 {
        self.door.pod_priority()
    }

    /// The effective request of a resource: cpu in millicores, all else in base units; 0 if none.
    pub fn request(&self, resource: &str) -> i64 {
        self.door.pod_request(resource)
    }

    /// The images of all containers, init containers included, each once, with a tag or digest.
    pub fn images(&self) -> Vec<&'a str> {
        self.door.pod_images()
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`.
    ///
    /// # Errors
    /// If what is there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }

    /// The JSON text at an RFC 6901 pointer into the whole object.
    pub fn field_text(&self, pointer: &str) -> Option<&'a str> {
        self.door.pod_field(pointer)
    }
}
