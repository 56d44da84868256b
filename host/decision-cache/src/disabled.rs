//! The end of a cache.

use std::fmt;

/// Why a function's answers are not cached any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled {
    /// It reads too many attributes of one subject.
    TooManyReads,
    /// The same values led it to another read or another answer.
    NotAFunction,
    /// It reads all that there is, so its values are never the same twice.
    ReadsEverything,
}

// === impl Disabled ===

impl Disabled {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::TooManyReads, Self::NotAFunction, Self::ReadsEverything];

    /// The name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooManyReads => "too-many-reads",
            Self::NotAFunction => "not-a-function",
            Self::ReadsEverything => "reads-everything",
        }
    }
}

impl fmt::Display for Disabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyReads => "it reads too many different attributes of one subject",
            Self::NotAFunction => "the same values led it to another read or another answer",
            Self::ReadsEverything => "it reads everything for each answer",
        })
    }
}
