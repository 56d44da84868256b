use serde::Deserialize;

use crate::{JsonError, door::Door};

/// The pod being scheduled.
#[derive(Debug, Clone, Copy)]
pub struct Pod<'a> {
    pub(super) door: Door<'a>,
}

// === impl Pod ===

impl<'a> Pod<'a> {
    pub(crate) fn new(door: Door<'a>) -> Self {
        Self { door }
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`.
    ///
    /// # Errors
    /// If what is there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }
}
