//! A taint of a node.

use serde::Deserialize;

/// A taint of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Taint {
    /// The taint's key.
    pub key: Box<str>,
    /// Its value; empty if it has none.
    #[serde(default)]
    pub value: Box<str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Box<str>,
}
