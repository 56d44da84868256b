//! The scale of a group's scores, and the weights beside them.

use std::fmt;

use plimsoll_core::{ScoreScale, TieBreak};

/// A group with fine scores: `gpu`, `gpu=name`, or `/=spread` for the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FineScores {
    /// Empty for the root.
    pub(crate) group: String,
    pub(crate) scale: ScoreScale,
}

/// A score plugin of kube-scheduler and its weight: `NodeResourcesFit=5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginWeight {
    pub(crate) name: String,
    pub(crate) weight: u32,
}

impl fmt::Display for FineScores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tie_break = match self.scale {
            ScoreScale::Coarse | ScoreScale::Fine => "",
            ScoreScale::FineWith(TieBreak::Name) => "=name",
            ScoreScale::FineWith(TieBreak::Spread) => "=spread",
        };
        write!(f, "{}{tie_break}", if self.group.is_empty() { "/" } else { &self.group })
    }
}
