use serde::Deserialize;

use crate::{JsonError, host_calls::HostCalls};

/// The pod being scheduled.
#[derive(Debug, Clone, Copy)]
pub struct Pod<'a> {
    pub(super) host: HostCalls<'a>,
}

// === impl Pod ===

impl<'a> Pod<'a> {
    pub(crate) fn new(host: HostCalls<'a>) -> Self {
        Self { host }
    }

    /// When the pod was created, in Unix seconds; none if that is unknown.
    ///
    /// Nearly every pod has another value, so answers that depend on it are cached for that pod alone.
    pub fn created(&self) -> Option<u64> {
        Some(self.host.pod_created()).filter(|created| *created != 0)
    }

    /// The value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`.
    ///
    /// # Errors
    /// If the value there is no `T`.
    pub fn field<T: Deserialize<'a>>(&self, pointer: &str) -> Result<Option<T>, JsonError> {
        super::parse_field(self.field_text(pointer))
    }
}
