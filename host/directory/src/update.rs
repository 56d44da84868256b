//! The result of a pass over the directory.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Mode, Roster};

/// A new roster, and its changes.
#[derive(Debug, Clone)]
pub struct RosterUpdate {
    /// The policies in force from now on.
    pub roster: Arc<Roster>,
    /// The changes, by policy.
    pub changes: Vec<PolicyChange>,
}

/// A change of one policy; `id` is its name with its group: `gpu/binpack`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyChange {
    /// A version was loaded and is in force.
    Loaded {
        /// The policy.
        id: String,
        /// Its sidecar's mode.
        mode: Mode,
        /// `sha256:…` of its module.
        digest: String,
        /// A keyed hash of its sidecar's text, by which one process tells versions apart; none without a sidecar.
        sidecar: Option<String>,
        /// Its module is that of the version before.
        only_settings: bool,
        /// The number of the version, from 1.
        version: u64,
        /// The time that it took to read, compile and validate it.
        took: Duration,
    },
    /// Its files were refused before, and are those of the version in force again.
    Unchanged {
        /// The policy.
        id: String,
    },
    /// Its files are refused as they stand now.
    Refused {
        /// The policy.
        id: String,
        /// Why, with file, line and field.
        error: String,
        /// Whether the last good version goes on answering.
        kept: bool,
    },
    /// Its files are gone, and so is the policy.
    Removed {
        /// The policy.
        id: String,
        /// It stayed in force without its files, until a policy was loaded.
        was_kept: bool,
    },
    /// A directory, or a name in it, has a problem.
    Problem {
        /// The directory or the name.
        id: String,
        /// The problem.
        error: String,
        /// Whether policies that it concerns go on answering.
        kept: bool,
    },
    /// A file or directory that looks like a policy is ignored.
    Ignored {
        /// Its path below the directory.
        id: String,
        /// Why.
        why: &'static str,
    },
    /// A directory, or a name in it, has no problem any more.
    Cleared {
        /// The directory or the name.
        id: String,
        /// The problem.
        error: String,
    },
    /// Its newest version was rolled back: it failed from its first calls on, and the last version that had
    /// answered answers the same call.
    RolledBack {
        /// The policy.
        id: String,
        /// The number of the version that was rolled back.
        version: u64,
        /// The number of the one that is in force again.
        back: u64,
        /// `sha256:…` of its module.
        digest: String,
        /// The fault of the version that was rolled back.
        error: String,
    },
    /// Its sidecar switches it off, and its module is not loaded from files as they stand now.
    SwitchedOff {
        /// The policy.
        id: String,
    },
    /// It became a library: a sidecar of another policy names its module, so it is no policy.
    Library {
        /// The policy that it was.
        id: String,
    },
}

// === impl PolicyChange ===

impl PolicyChange {
    /// The policy that it happened to.
    pub fn id(&self) -> &str {
        match self {
            Self::Loaded { id, .. }
            | Self::Unchanged { id }
            | Self::Refused { id, .. }
            | Self::Removed { id, .. }
            | Self::Problem { id, .. }
            | Self::Ignored { id, .. }
            | Self::Cleared { id, .. }
            | Self::RolledBack { id, .. }
            | Self::SwitchedOff { id }
            | Self::Library { id } => id,
        }
    }
}
