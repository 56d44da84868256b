//! One term of the Lease, its times, and how long this process may write in it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::clock;

/// The shortest and the longest Lease.
const BOUNDS: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(5)];

/// The times of an election; all are parts of the Lease's duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimings {
    lease: Duration,
}

/// A term: from acquiring the Lease to losing it. Acquiring it again begins another term.
#[derive(Debug)]
pub struct Term {
    number: u64,
    timings: LeaseTimings,
    start: Instant,
    /// Nanoseconds after the start; 0 once the term has ended.
    write_until: AtomicU64,
    /// Has a receiver for each write whose outcome is awaited.
    in_flight: watch::Sender<()>,
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

    /// The time from one renewal, or read, to the next; also the time that a request about the Lease may take.
    pub(crate) fn renew(self) -> Duration {
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

// === impl Term ===

impl Term {
    /// A term that begins now; until then no other candidate acquires the Lease.
    pub(crate) fn new(number: u64, timings: LeaseTimings, now: Instant, until: Instant) -> Self {
        let term = Self { number, timings, start: now, write_until: 0.into(), in_flight: watch::Sender::new(()) };
        term.extend(until);
        term
    }

    /// The number of the term in this process, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The times of its Lease.
    pub fn timings(&self) -> LeaseTimings {
        self.timings
    }

    /// Whether a write may be given to the socket now. Call it right before the write; it reads the clock once.
    pub fn may_write(&self) -> bool {
        // Neither processor nor compiler moves it behind the write: a system call is in between.
        nanoseconds(clock::now().saturating_duration_since(self.start)) < self.write_until.load(Ordering::SeqCst)
    }

    /// Counts a write. Call it before the write is sent, and keep the result until its outcome is known.
    pub(crate) fn begin_write(&self) -> watch::Receiver<()> {
        self.in_flight.subscribe()
    }

    /// A write that was sent and gets no reply is carried out within this time or never. A cancelled request may still
    /// have bytes on their way to the socket.
    pub(crate) fn doubt(&self) -> Duration {
        self.timings.settle() + self.timings.pause()
    }

    /// Ends the term, and waits until each of its writes has been carried out or never will be.
    pub(crate) async fn settle(&self) {
        self.end();
        // No write is given to a socket after the end, so even one without a reply is settled by then.
        let _ = clock::timeout(self.doubt(), self.in_flight.closed()).await;
    }

    /// The Lease was renewed: until then no other candidate acquires it.
    pub(crate) fn extend(&self, until: Instant) {
        let until = until.checked_sub(self.timings.settle()).unwrap_or(self.start);
        self.write_until.store(nanoseconds(until.saturating_duration_since(self.start)), Ordering::SeqCst);
    }

    /// The Lease is lost, or about to be released.
    pub(crate) fn end(&self) {
        self.write_until.store(0, Ordering::SeqCst);
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Term {}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::paused::PausedClock;

    #[test]
    fn a_term_settles_after_its_writes_or_when_none_can_arrive_any_more() {
        let (start, timings) = (Instant::now(), LeaseTimings::new(Duration::from_secs(9)));
        let (clock, runtime) = (PausedClock::new(start, 1), PausedClock::runtime());
        let [idle, busy, lost] = [(); 3].map(|()| Arc::new(Term::new(1, timings, start, start)));
        let (write, _lost_write) = (busy.begin_write(), lost.begin_write());
        let longest = idle.doubt();
        let settling = [idle, busy, lost].map(|term| {
            let _entered = clock.enter();
            runtime.spawn(async move { term.settle().await })
        });
        let settled = |after: Duration| {
            clock.run(&runtime, start + after);
            settling.each_ref().map(tokio::task::JoinHandle::is_finished)
        };
        let second = Duration::from_secs(1);
        assert_eq!(settled(second), [true, false, false], "two writes are in flight");
        drop(write);
        assert_eq!(settled(2 * second), [true, true, false], "the outcome of one is known");
        assert_eq!(settled(longest.saturating_sub(second)), [true, true, false], "the other may be on its way");
        assert_eq!(settled(longest + second), [true; 3], "it cannot arrive any more");
    }
}
