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
    /// Not now; it may once pods are gone.
    Unschedulable(Cow<'static, str>),
    /// Not whatever pods are gone.
    Unresolvable(Cow<'static, str>),
}

/// A policy's answer about one preemption candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preemption {
    /// Evict the pods that kube-scheduler proposed.
    Keep,
    /// Do not preempt on this node.
    Reject(Cow<'static, str>),
    /// Evict these pods of the candidate's node instead, by index.
    Replace(Vec<u32>),
}

/// The annotations and labels that a pod gets in the write that binds it.
///
/// ```
/// use plimsoll_policy::BindMetadata;
///
/// let metadata = BindMetadata::new().annotation("example.com/slot", "0").label("example.com/rack", "r1");
/// # let _ = metadata;
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BindMetadata {
    pub(crate) annotations: Vec<MetadataEntry>,
    pub(crate) labels: Vec<MetadataEntry>,
}

/// Why a pod is not bound to the node. A text that is returned with `?` or `into()` is a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotBound {
    /// Not to this node as it is: kube-scheduler gets the reason and retries the pod after a back-off.
    Refused(Cow<'static, str>),
    /// Not yet: the host asks again when the cluster has changed, within the time of the request. If that does not help,
    /// kube-scheduler gets the reason.
    Retry(Cow<'static, str>),
}

/// An annotation or a label that a pod gets as it is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataEntry {
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

// === impl BindMetadata ===

impl BindMetadata {
    /// Nothing: the pod is bound, and gets its node alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an annotation; one that the pod has already is overwritten.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push(MetadataEntry::new(key, value));
        self
    }

    /// Adds a label, by Kubernetes' rules for labels. One that the pod has already with another value is not overwritten:
    /// the pod is not bound then. The API server must be of Kubernetes 1.35 or later.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push(MetadataEntry::new(key, value));
        self
    }

    /// The annotations that were given, in their order.
    pub fn annotations(&self) -> &[MetadataEntry] {
        &self.annotations
    }

    /// The labels that were given, in their order.
    pub fn labels(&self) -> &[MetadataEntry] {
        &self.labels
    }
}

// === impl NotBound ===

impl NotBound {
    /// Says that the pod is not bound to this node as it is.
    pub fn refused(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Refused(reason.into())
    }

    /// Says that the pod is not bound yet.
    pub fn retry(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Retry(reason.into())
    }
}

impl From<String> for NotBound {
    fn from(reason: String) -> Self {
        Self::refused(reason)
    }
}

impl From<&'static str> for NotBound {
    fn from(reason: &'static str) -> Self {
        Self::refused(reason)
    }
}

impl From<Cow<'static, str>> for NotBound {
    fn from(reason: Cow<'static, str>) -> Self {
        Self::Refused(reason)
    }
}

// === impl MetadataEntry ===

impl MetadataEntry {
    /// An entry with this key and value.
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into() }
    }
}
