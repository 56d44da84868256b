//! The difference of an answer from the expected one.

use std::fmt;

use plimsoll_core::Verb;

/// One answer that is not the expected one. The answers are written as a case writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The verb that was asked.
    pub verb: Verb,
    /// The node; none for the settings, and for a verb as a whole.
    pub node: Option<String>,
    /// The line of the file on which the answer is expected.
    pub line: Option<u64>,
    /// The expected answer; none if the case says nothing of the node.
    pub expected: Option<String>,
    /// The answer.
    pub answered: String,
}

// === impl Difference ===

/// On one line.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.verb {
            Verb::Validate => f.write_str("settings")?,
            verb => write!(f, "{verb}")?,
        }
        if let Some(node) = &self.node {
            write!(f, ": {node}")?;
        }
        match &self.expected {
            Some(expected) => write!(f, ": expected {expected}, was {}", self.answered),
            None => write!(f, ": nothing is expected, was {}", self.answered),
        }
    }
}
