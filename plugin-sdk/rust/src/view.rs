//! The data that a policy sees: the pod, the nodes, the pods placed there. Each method is one read of the host.
//!
//! The views are indices and can be copied at will; text that they give lives as long as the call.

mod candidate;
mod cluster;
mod facts;
mod generated;
mod node;
mod placed;
mod pod;

use serde::Deserialize;

pub use candidate::{Candidate, Candidates};
pub use cluster::Cluster;
pub use facts::Facts;
pub use node::{Node, Nodes};
pub use placed::Placed;
pub use pod::Pod;

use crate::json::{self, JsonError};

/// Reads the JSON of a field as a `T`.
fn parse_field<'a, T: Deserialize<'a>>(field: Option<&'a str>) -> Result<Option<T>, JsonError> {
    field.map(json::from_str).transpose()
}
