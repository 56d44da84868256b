//! A taint of a node.

use serde::Deserialize;

use super::ALLOCATION;

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

// === impl Taint ===

impl Taint {
    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.value.len() + self.effect.len() + 3 * ALLOCATION
    }
}
