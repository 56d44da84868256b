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
    /// The times of a Lease of this duration: whole seconds, as in the API, from 1 s to 5 min.
    pub fn new(lease: Duration) -> Self {
        let seconds = lease.as_secs() + u64::from(lease.subsec_nanos() > 0);
        Self { lease: Duration::from_secs(seconds).clamp(BOUNDS[0], BOUNDS[1]) }
    }

    /// The time that a holder holds the Lease after it sent its last renewal.
    pub fn lease(self) -> Duration {
        self.lease
    }

    /// The time from one renewal, or read, to the next.
    pub(crate) fn renew(self) -> Duration {
        self.lease / 5
    }

    /// The time that a request about the Lease may take.
    pub(crate) fn request_timeout(self) -> Duration {
        self.lease / 5
    }

    /// The pause after a request that failed.
    pub(crate) fn pause(self) -> Duration {
        self.lease / 20
    }

    /// A holder stops writing this long before its Lease expires: every write has arrived or failed by then.
    pub fn settle(self) -> Duration {
        self.unacknowledged() + self.handling()
    }

    /// The time that bytes may stay unacknowledged in the kernel's buffer, before it drops them.
    pub(crate) fn unacknowledged(self) -> Duration {
        self.lease / 9
    }

    /// The time that the API server may work on a write.
    pub(crate) fn handling(self) -> Duration {
        self.lease * 2 / 9
    }

    /// The time that other candidates wait after they saw a Lease of this duration change: clocks have different rates.
    pub(crate) fn expiry(self) -> Duration {
        self.lease * 9 / 8
    }
}
