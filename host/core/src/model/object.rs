//! Kubernetes objects as policies can read them: compact records over the JSON of the API.
//!
//! The JSON is that of the API (lower camel case). Fields that no policy can read are skipped, not kept; nodes and the
//! pod being scheduled keep their text for `field`.

mod affinity;
mod claim;
mod defaults;
mod device_class;
mod entries;
mod image;
mod known_keys;
mod label_selector;
mod members;
mod metadata;
mod namespace;
mod node;
mod placed;
mod pod;
mod pointer;
mod pool;
mod quantities;
mod steady;

use serde::Deserialize;

pub use claim::{BoundClaims, Claim};
pub use defaults::set_defaults;
pub use device_class::{DeviceClass, DeviceClasses};
pub use entries::Entries;
pub use image::ImageName;
pub use known_keys::KnownKeys;
pub use label_selector::{Operator, Requirement};
pub use metadata::Owner;
pub use namespace::Namespace;
pub use node::{Node, Taint};
pub use placed::MAX_KEPT_ANNOTATION_BYTES;
pub use pod::{HostPort, Nomination, Phase, Pod};
pub use pool::Pool;
pub use quantities::Quantities;

pub(crate) use affinity::{AffinityTerm, AntiAffinity, Required};
pub(crate) use label_selector::LabelSelector;
pub(crate) use placed::NOT_KEPT;
pub(crate) use pointer::at_pointer;
pub(crate) use quantities::Sums;

use quantities::Amounts;

/// Why a JSON text is not the object that it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}{detail}")]
pub struct ObjectError {
    /// `Node` or `Pod`.
    pub kind: &'static str,
    /// The problem and its place, with the space or the colon before it.
    pub detail: String,
}

/// Reads one object of the API.
pub(crate) fn parse<'a, T: Deserialize<'a>>(kind: &'static str, json: &'a [u8]) -> Result<T, ObjectError> {
    let text = std::str::from_utf8(json).map_err(|error| ObjectError::invalid(kind, error))?;
    // Left to itself, serde reads a struct from an array too.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(ObjectError::new(kind, "is not a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| invalid_field::<T>(kind, text, error))
}

/// Reads the text once more, to name the field that is wrong.
#[cold]
fn invalid_field<'a, T: Deserialize<'a>>(kind: &'static str, text: &'a str, error: serde_json::Error) -> ObjectError {
    let mut json = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Err(located) if located.path().iter().next().is_some() => ObjectError::invalid(kind, located),
        _ => ObjectError::invalid(kind, error),
    }
}

impl ObjectError {
    pub(crate) fn new(kind: &'static str, detail: impl std::fmt::Display) -> Self {
        Self { kind, detail: format!(" {detail}") }
    }

    /// An error of a parser, which is no predicate of the object.
    pub(crate) fn invalid(kind: &'static str, error: impl std::fmt::Display) -> Self {
        Self { kind, detail: format!(": {error}") }
    }
}
