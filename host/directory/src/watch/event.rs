//! The events of the thread.

use crate::worker_pool::JobOutcome;

/// An event that wakes the thread.
pub(super) enum LoopEvent {
    /// The directory may have changed.
    Rescan,
    /// A job has ended.
    Done(JobOutcome),
    /// The watch must stop.
    Stop,
}

// === impl LoopEvent ===

impl From<JobOutcome> for LoopEvent {
    fn from(outcome: JobOutcome) -> Self {
        Self::Done(outcome)
    }
}
