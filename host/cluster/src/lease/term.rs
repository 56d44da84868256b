//! One term of the Lease, and how long this process may write in it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use super::{LeaseTimings, election::Hold};
use crate::clock;

/// A term: from acquiring the Lease to losing it. Acquiring it again begins another term.
#[derive(Debug)]
pub struct Term {
    number: u64,
    timings: LeaseTimings,
    start: Instant,
    /// Nanoseconds after the start; 0 once the term has ended.
    write_until: AtomicU64,
    /// Nanoseconds after the start: until then a write without an answer may still be carried out.
    doubt_until: AtomicU64,
}

// === impl Term ===

impl Term {
    pub(crate) fn new(hold: Hold, timings: LeaseTimings, now: Instant) -> Self {
        let term = Self { number: hold.term, timings, start: now, write_until: 0.into(), doubt_until: 0.into() };
        term.extend(hold);
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

    /// A write that is sent now and gets no reply is carried out by then or never.
    pub(crate) fn doubt(&self, now: Instant) -> Instant {
        // A cancelled request may still have bytes on their way to the socket.
        let settled = now + self.timings.settle() + self.timings.pause();
        self.doubt_until.fetch_max(nanoseconds(settled.duration_since(self.start)), Ordering::SeqCst);
        settled
    }

    /// When every write of this term has been carried out or never will be.
    pub(crate) fn settled(&self) -> Instant {
        self.start + Duration::from_nanos(self.doubt_until.load(Ordering::SeqCst))
    }

    /// The Lease was renewed.
    pub(crate) fn extend(&self, hold: Hold) {
        let until = hold.until.checked_sub(self.timings.settle()).unwrap_or(self.start);
        self.write_until.store(nanoseconds(until.saturating_duration_since(self.start)), Ordering::SeqCst);
    }

    /// The Lease is lost, or about to be released.
    pub(crate) fn end(&self) {
        self.write_until.store(0, Ordering::SeqCst);
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
