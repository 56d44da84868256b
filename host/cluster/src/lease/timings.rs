//! The duration of a Lease, and the times that follow from it.

use std::time::Duration;

/// The shortest and the longest Lease.
const BOUNDS: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(5)];

/// The times of an election; all are parts of the Lease's duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimings {
    lease: Duration,
}

// === impl LeaseTimings ===

impl LeaseTimings {
    /// The pace of a Lease that lasts so long: whole seconds, as the API has them, from 1 s to 5 min.
    pub fn new(lease: Duration) -> Self {
        let seconds = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
        Self { lease: Duration::from_secs(seconds).clamp(BOUNDS[0], BOUNDS[1]) }
    }

    /// How long a holder counts as one after it sent its last renewal.
    pub fn lease(self) -> Duration {
        self.lease
    }

    /// The time from one renewal, or look, to the next.
    pub(crate) fn renew(self) -> Duration {
        self.lease / 5
    }

    /// How long a request about the Lease may take.
    pub(crate) fn patience(self) -> Duration {
        self.lease / 5
    }

    /// The pause after a request that failed.
    pub(crate) fn pause(self) -> Duration {
        self.lease / 20
    }

    /// So long before its Lease runs out a holder writes its last: all that is under way is through by then.
    pub fn settle(self) -> Duration {
        self.unacknowledged() + self.handling()
    }

    /// How long bytes may lie in the kernel's buffer unacknowledged, before it gives them up.
    pub(crate) fn unacknowledged(self) -> Duration {
        self.lease / 9
    }

    /// How long the API server may work at a write that has reached it.
    pub(crate) fn handling(self) -> Duration {
        self.lease * 2 / 9
    }

    /// How long others wait after they saw a Lease of this duration change: clocks do not run equally fast.
    pub(crate) fn expiry(self) -> Duration {
        self.lease * 9 / 8
    }
}
