//! The two state machines of a policy: what is in force for it, and what is known of its files.

use std::time::{Duration, Instant};

use crate::content::FileRefusal;

/// The first pause before another try of files that were refused for a transient reason; it doubles with each try.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_mins(5);

/// What is in force for a policy; `V` is a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InForce<V> {
    /// Nothing, and no rule is missing: its files came later, and have not loaded so far.
    Absent,
    /// Nothing, and its files were there at the start: until a version is loaded, its verbs are faults.
    Awaited,
    /// The last good version.
    Good(V),
    /// A new version that has not proved itself, with the last good version to go back to.
    OnTrial { new: V, good: V },
    /// Its sidecar says `mode: off`; `before` is the state without that.
    Off { before: Box<InForce<V>> },
    /// A version whose files vanished together with all others.
    Vanished(V),
}

/// An event that changes what is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<V> {
    /// The last good version from before a restart was loaded.
    Restored(V),
    /// A version was loaded from the files.
    Loaded(V),
    /// The version on trial has answered.
    Proved,
    /// The first calls of the version on trial have all failed.
    Failed,
    SwitchedOff,
    SwitchedOn,
    /// The files vanished together with all others.
    FilesGone,
    /// The files are those of the version in force.
    FilesBack,
}

/// What is known of the files of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Files {
    /// They changed, or changed while they were read.
    Unread,
    /// A job reads and loads them, after so many tries that failed for a transient reason.
    Loading { job: u64, tries: u32 },
    /// They are refused; `is_final` once nobody can still be writing them. `retry`: if the reason is transient.
    Refused { refusal: FileRefusal, tries: u32, retry: Option<Instant>, is_final: bool },
    /// The version in force was made of them, or their sidecar says `mode: off`.
    AsRead,
}

// The table of transitions of what is in force. An event that a state does not name leaves it as it is.
impl<V> InForce<V> {
    #[expect(clippy::match_same_arms, reason = "a table: each transition has its line")]
    pub(crate) fn next(self, event: Event<V>) -> Self {
        use Event::{Failed, FilesBack, FilesGone, Loaded, Proved, Restored, SwitchedOff, SwitchedOn};
        match (self, event) {
            (Self::Awaited, Restored(good)) => Self::Good(good),
            (Self::Absent | Self::Awaited, Loaded(first)) => Self::Good(first),
            (Self::Good(good) | Self::Vanished(good) | Self::OnTrial { good, .. }, Loaded(new)) => {
                Self::OnTrial { new, good }
            }
            (Self::OnTrial { new, .. }, Proved) => Self::Good(new),
            (Self::OnTrial { good, .. }, Failed) => Self::Good(good),
            (Self::Good(version) | Self::OnTrial { new: version, .. }, FilesGone) => Self::Vanished(version),
            (Self::Vanished(version), FilesBack) => Self::Good(version),
            (off @ Self::Off { .. }, SwitchedOff) => off,
            (Self::OnTrial { good, .. } | Self::Vanished(good), SwitchedOff) => {
                Self::Off { before: Box::new(Self::Good(good)) }
            }
            (before, SwitchedOff) => Self::Off { before: Box::new(before) },
            (Self::Off { before }, SwitchedOn) => *before,
            (state, _) => state,
        }
    }

    /// The version that answers.
    pub(crate) fn version(&self) -> Option<&V> {
        match self {
            Self::Good(version) | Self::OnTrial { new: version, .. } | Self::Vanished(version) => Some(version),
            Self::Absent | Self::Awaited | Self::Off { .. } => None,
        }
    }
}

/// An event about the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilesEvent {
    /// They differ from those that were read last.
    Moved,
    /// A job was ordered.
    Ordered(u64),
    /// They changed while the job read them.
    Changing,
    /// The job, or the sidecar, is refused.
    Refused(FileRefusal, Instant),
    /// The job has loaded them, or knows them, or the sidecar says `mode: off`.
    Read,
    /// Nobody has written them for long.
    Final,
}

// The table of transitions of the files. The outcome of a job counts only in the state that the job has made.
impl Files {
    pub(crate) fn next(self, event: FilesEvent) -> Self {
        use FilesEvent::{Changing, Final, Moved, Ordered, Read, Refused};
        match (self, event) {
            (loading @ Self::Loading { .. }, Moved) => loading,
            (Self::Unread | Self::AsRead, Ordered(job)) => Self::Loading { job, tries: 0 },
            (Self::Refused { tries, .. }, Ordered(job)) => Self::Loading { job, tries },
            (_, Moved) | (Self::Loading { .. }, Changing) => Self::Unread,
            (Self::Loading { tries, .. }, Refused(refusal, now)) => {
                let pause = FIRST_PAUSE.saturating_mul(1 << tries.min(16)).min(MAX_PAUSE);
                let retry = refusal.is_transient.then(|| now + pause);
                Self::Refused { refusal, tries: tries + 1, retry, is_final: false }
            }
            (_, Read) => Self::AsRead,
            (Self::Refused { refusal, tries, retry, .. }, Final) => {
                Self::Refused { refusal, tries, retry, is_final: true }
            }
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests;
