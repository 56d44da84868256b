//! The rules one by one.

use super::*;

pub(super) const LEASE: Duration = Duration::from_secs(10);

fn timings() -> LeaseTimings {
    LeaseTimings::new(LEASE)
}

pub(super) fn config(identity: &str) -> LeaseConfig {
    let (namespace, name, url) = ("default".to_owned(), "plimsoll".to_owned(), "http://me".to_owned());
    LeaseConfig { namespace, name, identity: identity.to_owned(), url, timings: timings() }
}

/// A Lease of `LEASE`; no holder: it was released.
fn record(holder: Option<&str>, version: &str) -> Lease {
    let mut lease = Election::new(config("x"), Instant::now()).written(holder);
    lease.metadata.resource_version = Some(version.to_owned());
    lease
}

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

fn election(now: Instant) -> Election {
    Election::new(config("me"), now)
}

fn claim_of(step: ElectionStep) -> Lease {
    match step {
        ElectionStep::Write(lease) => *lease,
        other => panic!("{other:?} is no write"),
    }
}

fn version(lease: &Lease) -> Option<&str> {
    lease.metadata.resource_version.as_deref()
}

fn transitions(lease: &Lease) -> Option<i32> {
    lease.spec.as_ref()?.lease_transitions
}

/// The number and the end of the current term.
fn hold(election: &Election, now: Instant) -> Option<(u64, Instant)> {
    election.hold(now).map(|term| (term.number(), election.hold.as_ref().unwrap().until))
}

/// An election that has just taken a free Lease, in version 2.
fn leading(now: Instant) -> Election {
    let mut election = election(now);
    assert_eq!(election.step(now), ElectionStep::Read);
    election.read(now, Ok(Some(record(None, "1"))));
    claim_of(election.step(now));
    election.wrote(now, now, Ok(record(Some("me"), "2")));
    election
}

#[test]
fn an_absent_lease_is_made_and_counts_after_its_duration() {
    let now = Instant::now();
    let mut election = election(now);
    assert_eq!(election.step(now), ElectionStep::Read);
    election.read(now, Ok(None));
    let lease = claim_of(election.step(now));
    assert_eq!((version(&lease), holder(&lease), transitions(&lease)), (None, Some("me"), Some(0)));
    election.wrote(now, now, Ok(record(Some("me"), "1")));
    let mut later = now;
    for number in 2.. {
        assert!(election.hold(later).is_none(), "after {:?}", later - now);
        assert_eq!((election.is_quiet(later), election.quiet_until), (true, now + seconds(11.25)));
        later += seconds(2.0);
        if later >= now + seconds(11.25) {
            break;
        }
        claim_of(election.step(later));
        election.wrote(later, later, Ok(record(Some("me"), &number.to_string())));
    }
    assert_eq!(hold(&election, later), Some((1, now + seconds(10.0) + LEASE)));
}

#[test]
fn a_lease_that_was_made_perhaps_counts_after_its_duration_too() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(now, Ok(None));
    claim_of(election.step(now));
    election.wrote(now, now, Err(()));
    let later = now + seconds(2.0);
    assert_eq!(election.step(later), ElectionStep::Read);
    election.read(later, Ok(Some(record(Some("me"), "1"))));
    claim_of(election.step(later));
    election.wrote(later, later, Ok(record(Some("me"), "2")));
    assert!(election.hold(later).is_none());
    assert_eq!((election.is_quiet(later), election.quiet_until), (true, later + seconds(11.25)));
}

#[test]
fn a_lease_that_was_let_go_is_taken_at_once() {
    let now = Instant::now();
    let mut election = election(now);
    election.step(now);
    election.read(now, Ok(Some(record(None, "7"))));
    let lease = claim_of(election.step(now));
    assert_eq!((version(&lease), transitions(&lease)), (Some("7"), Some(0)));
}

#[test]
fn a_held_lease_is_taken_once_it_has_not_changed_for_its_duration_and_a_margin() {
    let start = Instant::now();
    let mut election = election(start);
    election.step(start);
    election.read(start, Ok(Some(record(Some("peer"), "1"))));
    let mut now = start;
    // Only looks, as long as it may be held.
    while now < start + timings().expiry() {
        match election.step(now) {
            ElectionStep::Wait(until) => now = until,
            ElectionStep::Read => election.read(now, Ok(Some(record(Some("peer"), "1")))),
            ElectionStep::Write(lease) => panic!("{lease:?} after {:?}", now - start),
        }
    }
    assert_eq!(now, start + seconds(11.25));
    assert_eq!(version(&claim_of(election.step(now))), Some("1"));
}

#[test]
fn a_renewal_by_the_peer_starts_its_duration_again() {
    let start = Instant::now();
    let mut election = election(start);
    election.step(start);
    election.read(start, Ok(Some(record(Some("peer"), "1"))));
    let later = start + seconds(9.0);
    election.read(later, Ok(Some(record(Some("peer"), "2"))));
    assert!(election.leader(start + seconds(20.0)).is_some());
    assert!(election.leader(start + seconds(20.3)).is_none());
}

#[test]
fn the_duration_that_counts_is_the_holders() {
    let start = Instant::now();
    let mut election = election(start);
    election.step(start);
    let mut longer = record(Some("peer"), "1");
    longer.spec.as_mut().unwrap().lease_duration_seconds = Some(40);
    election.read(start, Ok(Some(longer)));
    assert!(election.leader(start + seconds(44.9)).is_some());
    assert!(election.leader(start + seconds(45.1)).is_none());
}

#[test]
fn a_hold_counts_from_before_its_renewal_was_sent() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    let lease = claim_of(election.step(sent));
    assert_eq!(transitions(&lease), transitions(&record(Some("me"), "2")));
    election.wrote(sent, sent + seconds(1.5), Ok(record(Some("me"), "3")));
    assert_eq!(hold(&election, sent), Some((1, sent + LEASE)));
}

#[test]
fn a_renewal_whose_answer_comes_after_it_ran_out_is_no_hold() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    claim_of(election.step(sent));
    let thawed = sent + LEASE;
    election.wrote(sent, thawed, Ok(record(Some("me"), "3")));
    assert!(election.hold(thawed).is_none());
}

#[test]
fn a_renewal_with_an_unknown_end_changes_nothing_until_the_lease_is_read() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    claim_of(election.step(sent));
    election.wrote(sent, sent + seconds(2.0), Err(()));
    assert_eq!(hold(&election, sent), Some((1, now + LEASE)));
    let next = sent + seconds(2.5);
    assert_eq!(election.step(next), ElectionStep::Read);
    election.read(next, Ok(Some(record(Some("me"), "3"))));
    assert_eq!(version(&claim_of(election.step(next))), Some("3"));
}

#[test]
fn who_took_the_lease_ends_our_hold_at_once() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    claim_of(election.step(sent));
    election.wrote(sent, sent, Err(()));
    assert_eq!(election.step(sent + seconds(0.5)), ElectionStep::Read);
    election.read(sent, Ok(Some(record(Some("peer"), "9"))));
    assert!(election.hold(sent).is_none());
    assert_eq!(holder(election.leader(sent).unwrap()), Some("peer"));
}

#[test]
fn a_lease_that_vanished_ends_our_hold_and_is_made_again() {
    let now = Instant::now();
    let mut election = leading(now);
    election.read(now, Ok(None));
    assert!(election.hold(now).is_none());
    let later = now + seconds(2.0);
    let lease = claim_of(election.step(later));
    assert_eq!(version(&lease), None);
    election.wrote(later, later, Ok(record(Some("me"), "1")));
    assert!(election.hold(later).is_none());
}

#[test]
fn a_hold_that_ran_out_and_is_taken_again_is_a_new_term() {
    let now = Instant::now();
    let mut election = leading(now);
    let thawed = now + seconds(60.0);
    claim_of(election.step(thawed));
    assert!(election.hold(thawed).is_none());
    election.wrote(thawed, thawed, Ok(record(Some("me"), "3")));
    assert_eq!(hold(&election, thawed), Some((2, thawed + LEASE)));
}

#[test]
fn letting_go_clears_the_holder_and_ends_the_hold_before_it_is_written() {
    let now = Instant::now();
    let mut election = leading(now);
    let released = election.release(now).unwrap();
    assert_eq!((version(&released), holder(&released), url(&released)), (Some("2"), None, None));
    assert!(election.hold(now).is_none());
}

#[test]
fn who_does_not_hold_the_lease_lets_nothing_go() {
    let now = Instant::now();
    let mut standby = election(now);
    standby.read(now, Ok(Some(record(Some("peer"), "1"))));
    assert_eq!(standby.release(now), None);
    // Its time is up: somebody else may hold it.
    assert_eq!(leading(now).release(now + LEASE), None);
}

#[test]
fn a_failed_look_is_repeated_after_a_pause() {
    let now = Instant::now();
    let mut election = election(now);
    election.step(now);
    election.read(now, Err(()));
    assert_eq!(election.step(now), ElectionStep::Wait(now + seconds(0.5)));
    assert_eq!(election.step(now + seconds(0.5)), ElectionStep::Read);
}
