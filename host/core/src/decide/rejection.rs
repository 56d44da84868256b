//! A node that is rejected.

/// The reason for a name that the gateway's view of the cluster does not hold; it is tried again later.
pub(super) const NOT_SEEN: (&str, &str) = ("plimsoll", "node not seen yet");

/// One rejected node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    /// Its index in the request.
    pub node: u32,
    /// The index of its reason in [`FilterOutcome::reasons`](crate::FilterOutcome::reasons).
    pub reason: u32,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}
