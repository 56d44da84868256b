//! Why a filter rejects a node.

use std::borrow::Cow;

/// Why one of the filters rejects a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerRejection<'f> {
    /// The plugin that rejects it; those after it are not asked.
    pub plugin: &'static str,
    /// In kube-scheduler's words.
    pub reasons: Cow<'f, [&'f str]>,
    /// Whether preemption cannot help.
    pub unresolvable: bool,
}

// === impl SchedulerRejection ===

impl<'f> SchedulerRejection<'f> {
    pub(super) fn new(plugin: &'static str, reasons: &'f [&'f str], unresolvable: bool) -> Self {
        Self { plugin, reasons: Cow::Borrowed(reasons), unresolvable }
    }
}
