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

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::{
    api::coordination::v1::Lease,
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};

use crate::term::{LeaseTimings, Term};

/// The annotation of the Lease with its holder's URL.
pub const URL_ANNOTATION: &str = "plimsoll/url";

/// The Lease and the candidate.
#[derive(Debug, Clone)]
pub struct LeaseConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The pod's name, for people. The identity that is written is unique to the process.
    pub identity: String,
    /// The URL to which standbys forward while this process leads.
    pub url: String,
    /// The duration of the Lease.
    pub timings: LeaseTimings,
}

/// One candidate's part in the election.
#[derive(Debug)]
pub(crate) struct Election {
    config: LeaseConfig,
    /// The Lease as it was last seen, and since when it has been so.
    seen: Option<ObservedLease>,
    hold: Option<Hold>,
    /// The Lease's version after the last write of ours that is known to have succeeded.
    own: Option<String>,
    /// Until then nothing is held, even if a write succeeded.
    quiet_until: Instant,
    /// The number of terms of this candidate.
    terms: u64,
    /// No action before this time.
    wake: Instant,
    /// The last view may be outdated: read before the next write.
    must_read: bool,
}

#[derive(Debug)]
struct ObservedLease {
    /// `None`: there is no Lease.
    lease: Option<Lease>,
    /// When it was first seen like this.
    since: Instant,
}

/// The Lease is ours.
#[derive(Debug)]
struct Hold {
    term: Arc<Term>,
    /// Until then no other candidate acquires it.
    until: Instant,
}

/// The next action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ElectionStep {
    /// No action until then.
    Wait(Instant),
    /// Read the Lease and pass the result to [`Election::read`].
    Read,
    /// Write this Lease and pass the result to [`Election::wrote`].
    Write(Box<Lease>),
}

// === impl Election ===

impl Election {
    /// The identity must be unique to this process: a restarted one must have another.
    pub(crate) fn new(config: LeaseConfig, now: Instant) -> Self {
        Self { config, seen: None, hold: None, own: None, quiet_until: now, terms: 0, wake: now, must_read: true }
    }

    /// The Lease and the candidate.
    pub(crate) fn config(&self) -> &LeaseConfig {
        &self.config
    }

    /// The next action; an expired term ends here at the latest.
    pub(crate) fn step(&mut self, now: Instant) -> ElectionStep {
        self.hold.take_if(|hold| now >= hold.until);
        if now < self.wake {
            return ElectionStep::Wait(self.wake);
        }
        let Some(seen) = self.seen.as_ref().filter(|_| !self.must_read) else { return ElectionStep::Read };
        let free_at = self.free_at(seen);
        if self.hold.is_some() || free_at <= now {
            return ElectionStep::Write(Box::new(self.written(Some(&self.config.identity))));
        }
        let next = now + self.config.timings.renew();
        self.wake = free_at.min(next);
        // At its end the write itself shows whether it was renewed meanwhile.
        self.must_read = self.wake == next;
        ElectionStep::Wait(self.wake)
    }

    /// The result of reading the Lease: `None` if it does not exist, `Err` if it could not be read.
    pub(crate) fn read(&mut self, now: Instant, lease: Result<Option<Lease>, ()>) {
        match lease {
            Ok(lease) => {
                self.see(now, lease);
                self.must_read = false;
            }
            Err(()) => self.wake = now + self.config.timings.pause(),
        }
    }

    /// The result of a write, which may have been made, now or later, even if it failed. `sent` is from before it was sent.
    pub(crate) fn wrote(&mut self, sent: Instant, now: Instant, result: Result<Lease, ()>) {
        let timings = self.config.timings;
        let Ok(lease) = result else {
            self.must_read = true;
            self.wake = now + timings.pause();
            return;
        };
        // Created, or ours by a write with an unknown outcome: perhaps a late one that created it.
        let seen = self.seen.as_ref().and_then(|seen| seen.lease.as_ref());
        let may_be_new = seen.is_none_or(|seen| self.is_ours(seen) && seen.metadata.resource_version != self.own);
        self.own.clone_from(&lease.metadata.resource_version);
        self.see(now, Some(lease));
        self.wake = sent + timings.renew();
        let until = sent + timings.lease();
        if let Some(hold) = self.hold.as_mut().filter(|hold| now < hold.until) {
            hold.until = until;
            hold.term.extend(until);
        } else {
            self.terms += 1;
            self.hold = Some(Hold { term: Arc::new(Term::new(self.terms, timings, now, until)), until });
            if may_be_new {
                self.quiet_until = now + timings.expiry();
            }
        }
    }

    /// Ends the term; returns the write that releases the Lease if it is ours.
    pub(crate) fn release(&mut self, now: Instant) -> Option<Lease> {
        // At first a created Lease may still be held by another candidate: it is left to expire.
        let released = self.hold(now).map(|_| self.written(None));
        self.end_term();
        released
    }

    /// The current term, if any.
    pub(crate) fn hold(&self, now: Instant) -> Option<&Arc<Term>> {
        let hold = self.hold.as_ref().filter(|hold| self.quiet_until <= now && now < hold.until);
        hold.map(|hold| &hold.term)
    }

    /// Whether the Lease is ours, and was created too recently to count.
    pub(crate) fn is_quiet(&self, now: Instant) -> bool {
        self.hold.is_some() && now < self.quiet_until
    }

    /// The Lease as it was last seen, if another candidate holds it and it has not expired.
    pub(crate) fn leader(&self, now: Instant) -> Option<&Lease> {
        let seen = self.seen.as_ref()?;
        seen.lease.as_ref().filter(|_| now < self.free_at(seen))
    }

    /// When no candidate can believe any more that it holds the Lease, unless it changes before.
    fn free_at(&self, seen: &ObservedLease) -> Instant {
        let held = seen.lease.as_ref().filter(|lease| holder(lease).is_some() && !self.is_ours(lease));
        seen.since + held.map_or(Duration::ZERO, |lease| timings(lease).expiry())
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        holder(lease) == Some(&self.config.identity)
    }

    fn see(&mut self, now: Instant, lease: Option<Lease>) {
        if !lease.as_ref().is_some_and(|lease| self.is_ours(lease)) {
            self.end_term();
        }
        let version = |lease: &Option<Lease>| lease.as_ref().map(|lease| lease.metadata.resource_version.clone());
        if self.seen.as_ref().is_none_or(|seen| version(&seen.lease) != version(&lease)) {
            self.seen = Some(ObservedLease { lease, since: now });
        }
    }

    fn end_term(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.term.end();
        }
    }

    /// The Lease with this holder, to be written; it keeps the version and the other fields of the one that was seen.
    fn written(&self, holder: Option<&str>) -> Lease {
        let seen = self.seen.as_ref().and_then(|seen| seen.lease.clone());
        let mut lease = seen.unwrap_or_else(|| Lease {
            metadata: ObjectMeta { name: Some(self.config.name.clone()), ..ObjectMeta::default() },
            spec: None,
        });
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match holder {
            Some(_) => annotations.insert(URL_ANNOTATION.to_owned(), self.config.url.clone()),
            None => annotations.remove(URL_ANNOTATION),
        };
        let now = MicroTime(Timestamp::now());
        let spec = lease.spec.get_or_insert_default();
        if holder.is_some() && spec.holder_identity.as_deref() != holder {
            spec.acquire_time = Some(now.clone());
            spec.lease_transitions = Some(spec.lease_transitions.map_or(0, |count| count.saturating_add(1)));
        }
        // client-go releases a Lease by an empty holder.
        spec.holder_identity = Some(holder.unwrap_or_default().to_owned());
        spec.lease_duration_seconds = i32::try_from(self.config.timings.lease().as_secs()).ok();
        spec.renew_time = Some(now);
        lease
    }
}

/// The holder of a Lease, unless it is released.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

/// The URL of its holder.
pub(super) fn url(lease: &Lease) -> Option<&str> {
    let url = lease.metadata.annotations.as_ref()?.get(URL_ANNOTATION)?;
    Some(url.as_str()).filter(|url| !url.is_empty())
}

/// The times that its holder counts with.
fn timings(lease: &Lease) -> LeaseTimings {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
    LeaseTimings::new(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}
