//! The result of a pass over the directory.

use std::{sync::Arc, time::Duration};

use plimsoll_core::{Mode, Roster};

/// A new roster, and its changes.
#[derive(Debug, Clone)]
pub struct RosterUpdate {
    /// The policies in force from now on.
    pub roster: Arc<Roster>,
    /// What happened since the last update.
    pub changes: Vec<PolicyChange>,
}

/// A change of a policy, a directory or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyChange {
    /// The policy's name with its group, `gpu/binpack`; or the directory or file.
    pub id: String,
    /// The change.
    pub kind: ChangeKind,
}

/// The kind of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// A version was loaded and is in force.
    Loaded {
        /// Its sidecar's mode.
        mode: Mode,
        /// `sha256:…` of its module.
        digest: String,
        /// `sha256:…` of its sidecar; none without a sidecar.
        sidecar: Option<String>,
        /// Its module is that of the version before.
        only_settings: bool,
        /// The number of the version, from 1.
        version: u64,
        /// The time that it took to read, compile and validate it.
        took: Duration,
    },
    /// The last good version answers again: its files are back in place, or its sidecar no longer says `mode: off`.
    Unchanged,
    /// Its files are refused as they stand now.
    Refused {
        /// Why, with file, line and field.
        error: String,
        /// Whether the last good version goes on answering.
        kept: bool,
    },
    /// Its files are gone, and so is the policy.
    Removed {
        /// It stayed in force without its files, until a policy was loaded.
        was_kept: bool,
    },
    /// A directory, or a name in it, has a problem.
    Problem {
        /// The problem.
        error: String,
        /// Whether policies that it concerns go on answering.
        kept: bool,
    },
    /// A file or directory that looks like a policy is ignored.
    Ignored {
        /// Why.
        why: &'static str,
    },
    /// A directory, or a name in it, has no problem any more.
    Cleared {
        /// The problem.
        error: String,
    },
    /// Its newest version was rolled back: its first calls of a verb all failed.
    RolledBack {
        /// The number of the version that was rolled back.
        version: u64,
        /// The number of the one that is in force again.
        back: u64,
        /// `sha256:…` of its module.
        digest: String,
        /// The fault of the version that was rolled back.
        error: String,
    },
    /// Its sidecar switches it off.
    SwitchedOff,
    /// It became a library: a sidecar of another policy names its module, so it is no policy.
    Library,
}

// === impl PolicyChange ===

impl PolicyChange {
    pub(crate) fn new(id: &impl ToString, kind: ChangeKind) -> Self {
        Self { id: id.to_string(), kind }
    }
}
