//! The election of the Lease's holder: a state machine without a clock, a network or a task.
//!
//! The rules are client-go's (`tools/leaderelection`): a Lease is free if its holder released it, or if it has
//! not changed for its duration *as seen by our own monotonic clock*; the times written in it are for
//! people. Every write carries the `resourceVersion` that was read, so of two takers one fails. Two rules are stricter:
//!
//! - Our own term counts from the moment *before* the renewal was sent, whenever the reply arrives.
//! - A Lease that had to be created takes effect only after its duration: another replica may hold one that was deleted.

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use super::record::{LeaseRecord, LeaseWrite};
use crate::term::{Hold, LeaseTimings};

/// One candidate's part in the election.
#[derive(Debug)]
pub(crate) struct Election {
    identity: Arc<str>,
    timings: LeaseTimings,
    /// The Lease as it was last seen, and since when it has been so.
    seen: Option<ObservedLease>,
    hold: Option<Hold>,
    /// The Lease's version after the last write of ours that is known to have succeeded.
    own: Option<Box<str>>,
    /// Until then nothing is held, even if a write succeeded.
    quiet_until: Instant,
    /// The number of terms of this candidate.
    terms: u64,
    /// No action before this time.
    wake: Instant,
    /// The last view may be outdated: read before the next write.
    must_read: bool,
    released: bool,
}

#[derive(Debug)]
struct ObservedLease {
    /// `None`: there is no Lease.
    record: Option<LeaseRecord>,
    /// When it was first seen like this.
    since: Instant,
}

/// The next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ElectionStep {
    /// No action until then.
    Wait(Instant),
    /// Read the Lease and pass the result to [`Election::read`].
    Read,
    /// Write the Lease and pass the result to [`Election::wrote`].
    Write(LeaseWrite),
}

// === impl Election ===

impl Election {
    /// `identity` must be unique to this process: a restarted one must have another.
    pub(crate) fn new(identity: Arc<str>, timings: LeaseTimings, now: Instant) -> Self {
        Self {
            identity,
            timings,
            seen: None,
            hold: None,
            own: None,
            quiet_until: now,
            terms: 0,
            wake: now,
            must_read: true,
            released: false,
        }
    }

    /// The identity of this candidate.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The next action; an expired term ends here at the latest.
    pub(crate) fn step(&mut self, now: Instant) -> ElectionStep {
        self.hold = self.hold.filter(|hold| now < hold.until);
        if self.released || now < self.wake {
            return ElectionStep::Wait(self.wake);
        }
        match &self.seen {
            Some(seen) if !self.must_read => {
                if self.hold.is_some() || self.is_free(seen, now) {
                    let record = seen.record.as_ref();
                    let is_transition = record.is_none_or(|record| record.holder.as_ref() != Some(&self.identity));
                    let version = record.map(|record| record.version.clone());
                    ElectionStep::Write(LeaseWrite { version, holder: Some(Arc::clone(&self.identity)), is_transition })
                } else {
                    self.sleep(now);
                    ElectionStep::Wait(self.wake)
                }
            }
            _ => ElectionStep::Read,
        }
    }

    /// The result of reading the Lease: `None` if it does not exist, `Err` if it could not be read.
    pub(crate) fn read(&mut self, now: Instant, lease: Result<Option<LeaseRecord>, ()>) {
        let Ok(record) = lease else {
            self.wake = now + self.timings.pause();
            return;
        };
        self.see(now, record);
        self.must_read = false;
    }

    /// The result of a write, which may have been made, now or later, even if it failed. `sent` is from before it was sent.
    pub(crate) fn wrote(
        &mut self,
        sent: Instant,
        now: Instant,
        lease_write: &LeaseWrite,
        result: Result<LeaseRecord, ()>,
    ) {
        let Ok(record) = result else {
            self.must_read = true;
            self.wake = now + self.timings.pause();
            return;
        };
        let version = record.version.clone();
        self.see(now, Some(record));
        if lease_write.holder.is_some() && !self.released {
            self.hold_since(sent, now, lease_write);
            self.own = Some(version);
            self.wake = sent + self.timings.renew();
        }
    }

    /// Leaves the election; returns the write that releases the Lease if it is ours.
    pub(crate) fn release(&mut self, now: Instant) -> Option<LeaseWrite> {
        // At first a created Lease may still be held by another candidate: it is left to expire.
        let held = self.hold(now).is_some();
        self.hold = None;
        self.released = true;
        let record = self.seen.as_ref()?.record.as_ref().filter(|_| held)?;
        Some(LeaseWrite { version: Some(record.version.clone()), holder: None, is_transition: false })
    }

    /// The current term, if any.
    pub(crate) fn hold(&self, now: Instant) -> Option<Hold> {
        self.hold.filter(|hold| self.quiet_until <= now && now < hold.until)
    }

    /// When the term of a Lease begins that was created just now.
    pub(crate) fn quiet_until(&self, now: Instant) -> Option<Instant> {
        (self.hold.is_some() && now < self.quiet_until).then_some(self.quiet_until)
    }

    /// The Lease as it was last seen, if another candidate holds it and it has not expired.
    pub(crate) fn leader(&self, now: Instant) -> Option<&LeaseRecord> {
        let seen = self.seen.as_ref()?;
        let record = seen.record.as_ref()?;
        (record.holder.as_ref() != Some(&self.identity) && !self.is_free(seen, now)).then_some(record)
    }

    /// When the Lease is free, unless it changes before: for one that somebody else holds.
    fn expires_at(&self) -> Option<Instant> {
        let seen = self.seen.as_ref()?;
        Some(seen.since + seen.record.as_ref()?.timings.expiry())
    }

    fn see(&mut self, now: Instant, record: Option<LeaseRecord>) {
        let version = |record: &Option<LeaseRecord>| record.as_ref().map(|record| record.version.clone());
        let is_ours = |record: &LeaseRecord| record.holder.as_ref() == Some(&self.identity);
        if !record.as_ref().is_some_and(is_ours) {
            self.hold = None;
        }
        match &self.seen {
            Some(seen) if version(&seen.record) == version(&record) => {}
            _ => self.seen = Some(ObservedLease { record, since: now }),
        }
    }

    /// Whether no candidate can believe that it holds the Lease.
    fn is_free(&self, seen: &ObservedLease, now: Instant) -> bool {
        let Some(record) = &seen.record else { return true };
        record.holder.as_ref().is_none_or(|holder| *holder == self.identity)
            || now >= seen.since + record.timings.expiry()
    }

    /// Until the next read, or until the Lease expires.
    fn sleep(&mut self, now: Instant) {
        let next = now + self.timings.renew();
        self.wake = self.expires_at().map_or(next, |expiry| expiry.clamp(now, next));
        // At its end the write itself shows whether it was renewed meanwhile.
        self.must_read = self.wake == next;
    }

    fn hold_since(&mut self, sent: Instant, now: Instant, lease_write: &LeaseWrite) {
        let until = sent + self.timings.lease();
        if self.hold.is_none_or(|hold| now >= hold.until) {
            self.terms += 1;
            // Ours, by a write with an unknown outcome: perhaps a late one that created it.
            let is_found = !lease_write.is_transition && lease_write.version != self.own;
            if lease_write.version.is_none() || is_found {
                self.quiet_until = now + self.timings.expiry();
            }
        }
        self.hold = (now < until).then_some(Hold { term: self.terms, until });
    }
}
