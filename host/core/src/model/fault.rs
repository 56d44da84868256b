//! The ways in which a call of a guest can fail: separate outcomes with names.

use std::fmt;

crate::words! {
    /// The kind of a fault; logs, metrics and the scheduler's events show its name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FaultKind {
        /// The guest executed an instruction that traps.
        Trap = "trap",
        /// The policy's own time, or the rest of the request's, ran out.
        Timeout = "timeout",
        /// The guest asked for more memory or table space than it may have.
        Memory = "memory",
        /// The guest recursed too deeply.
        Stack = "stack",
        /// The answer is outside the contract: range, length, encoding, size.
        Output = "output",
        /// The guest reported that it cannot go on (`host.panic`).
        Panic = "panic",
        /// An expression of an interpreted rule could not be evaluated; the text begins with its place.
        Rule = "rule",
        /// The guest could not be started.
        Start = "start",
        /// The guest read a node, pod or candidate that does not exist.
        Read = "read",
        /// The guest read a fact that is not there, and its sidecar says what that means (`absent`).
        AbsentFact = "absent-fact",
        /// There was no room for the call: too many calls, or too much memory of all policies together.
        Busy = "busy",
        /// Five faults in a row: the policy is not asked for a while.
        CircuitOpen = "circuit-open",
        /// No version of the policy is in force: it is still being loaded, or its files are refused.
        NotLoaded = "not-loaded",
        /// plimsoll itself failed while it asked the policy.
        Host = "host",
    }
}

/// One failed call of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which of the named outcomes this is.
    pub kind: FaultKind,
    /// A description of the failure for an operator; its maker bounds its length.
    pub detail: String,
}

// === impl FaultKind ===

impl FaultKind {
    /// Whether the machine may be the cause, so that the same call may succeed later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Timeout | Self::Start | Self::Busy | Self::Host)
    }

    /// Whether the policy was not called because of something that was told before.
    pub const fn is_of_earlier_cause(self) -> bool {
        matches!(self, Self::CircuitOpen | Self::NotLoaded)
    }
}

// === impl Fault ===

impl Fault {
    /// Makes a fault.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// A policy gave another number of answers than it was asked for.
    pub(crate) fn miscounted(answers: usize, nodes: usize) -> Self {
        Self::new(FaultKind::Output, format!("{answers} answers for {nodes} nodes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FaultKind::Rule => f.write_str(&self.detail),
            kind => write!(f, "{kind}: {}", self.detail),
        }
    }
}

impl std::error::Error for Fault {}
