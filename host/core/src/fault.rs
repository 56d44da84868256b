//! What can go wrong while a guest is asked: separate outcomes with names.

use std::fmt;

use crate::Secrets;

/// The kind of a fault; its name is what logs, metrics and the scheduler's events show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The guest executed an instruction that traps.
    Trap,
    /// The policy's own time, or what was left of the request's, ran out.
    Timeout,
    /// The guest asked for more memory or table space than it may have.
    Memory,
    /// The guest recursed too deeply.
    Stack,
    /// The answer is outside the contract: range, length, encoding, size.
    Output,
    /// The guest reported that it cannot go on (`host.panic`).
    Panic,
    /// The guest could not be started.
    Start,
    /// The guest read a node, pod or candidate that does not exist.
    Read,
    /// There was no room for the call: too many calls, or too much memory of all policies together.
    Busy,
    /// Five faults in a row: the policy is not asked for a while.
    CircuitOpen,
    /// No version of the policy is in force: it is still being loaded, or its files are refused.
    NotLoaded,
    /// plimsoll itself failed while it asked the policy.
    Host,
}

/// One failed call of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which of the named outcomes this is.
    pub kind: FaultKind,
    /// What happened, for an operator; bounded by whoever made it.
    pub detail: String,
}

// === impl FaultKind ===

impl FaultKind {
    /// Whether the machine may be the cause, so that the same call may succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Timeout | Self::Start | Self::Busy | Self::Host)
    }

    /// Every kind, in the order in which they are documented.
    pub const ALL: [Self; 12] = [
        Self::Trap,
        Self::Timeout,
        Self::Memory,
        Self::Stack,
        Self::Output,
        Self::Panic,
        Self::Start,
        Self::Read,
        Self::Busy,
        Self::CircuitOpen,
        Self::NotLoaded,
        Self::Host,
    ];

    /// The name in logs, metrics and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Stack => "stack",
            Self::Output => "output",
            Self::Panic => "panic",
            Self::Start => "start",
            Self::Read => "read",
            Self::Busy => "busy",
            Self::CircuitOpen => "circuit-open",
            Self::NotLoaded => "not-loaded",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Fault ===

impl Fault {
    /// Makes a fault.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// The same fault without the secrets of the policy's settings, which a guest may quote as it fails.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        Self { detail: secrets.hide(&self.detail).into_owned(), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.detail)
    }
}

impl std::error::Error for Fault {}
