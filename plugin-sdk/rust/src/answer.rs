//! The answers of a policy.

use std::borrow::Cow;

use crate::Placed;

/// May the pod run on the node?
///
/// A reason is at most 1,024 bytes, and says nothing that differs from node to node: kube-scheduler
/// counts nodes by reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Fits,
    /// Not now; evicting pods may help.
    Unschedulable(Cow<'static, str>),
    /// Evicting pods will not help.
    Unresolvable(Cow<'static, str>),
}

/// What to do with one preemption candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preemption {
    /// Evict what kube-scheduler proposed.
    Keep,
    /// Do not preempt on this node.
    Reject(Cow<'static, str>),
    /// Evict these pods of the candidate's node instead, by index.
    Replace(Vec<u32>),
}

/// An annotation that a pod gets as it is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

// === impl Verdict ===

impl Verdict {
    /// Says that the pod does not fit now, but may once other pods are gone.
    pub fn unschedulable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Unschedulable(reason.into())
    }

    /// Says that the pod does not fit, whatever else is evicted.
    pub fn unresolvable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Unresolvable(reason.into())
    }
}

// === impl Preemption ===

impl Preemption {
    /// Drops the candidate.
    pub fn reject(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Reject(reason.into())
    }

    /// Evicts these pods of the candidate's node instead; at least one.
    pub fn replace<'a>(victims: impl IntoIterator<Item = Placed<'a>>) -> Self {
        Self::Replace(victims.into_iter().map(|victim| victim.index()).collect())
    }
}

// === impl Annotation ===

impl Annotation {
    /// An annotation with this key and value.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}
