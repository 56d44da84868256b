//! The rules one by one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::*;

const LEASE: Duration = Duration::from_secs(10);

fn timings() -> LeaseTimings {
    LeaseTimings::new(LEASE)
}

fn record(holder: Option<&str>, version: &str) -> LeaseRecord {
    LeaseRecord { holder: holder.map(Arc::from), url: None, timings: timings(), version: version.into() }
}

fn seconds(count: f64) -> Duration {
    Duration::from_secs_f64(count)
}

fn election(now: Instant) -> Election {
    Election::new("me".into(), timings(), now)
}

fn claim_of(step: ElectionStep) -> LeaseWrite {
    match step {
        ElectionStep::Write(lease_write) => lease_write,
        other => panic!("{other:?} is no write"),
    }
}

/// An election that has just taken a free Lease, in version 2.
fn leading(now: Instant) -> Election {
    let mut election = election(now);
    assert_eq!(election.step(now), ElectionStep::Read);
    election.read(now, Ok(Some(record(None, "1"))));
    let lease_write = claim_of(election.step(now));
    election.wrote(now, now, &lease_write, Ok(record(Some("me"), "2")));
    election
}

#[test]
fn an_absent_lease_is_made_and_counts_after_its_duration() {
    let now = Instant::now();
    let mut election = election(now);
    assert_eq!(election.step(now), ElectionStep::Read);
    election.read(now, Ok(None));
    let lease_write = claim_of(election.step(now));
    assert_eq!(lease_write, LeaseWrite { version: None, holder: Some("me".into()), is_transition: true });
    election.wrote(now, now, &lease_write, Ok(record(Some("me"), "1")));
    let mut later = now;
    for version in 2.. {
        assert_eq!(election.hold(later), None, "after {:?}", later - now);
        assert_eq!(election.quiet_until(later), Some(now + seconds(11.25)));
        later += seconds(2.0);
        if later >= now + seconds(11.25) {
            break;
        }
        let lease_write = claim_of(election.step(later));
        election.wrote(later, later, &lease_write, Ok(record(Some("me"), &version.to_string())));
    }
    assert_eq!(election.hold(later), Some(Hold { term: 1, until: now + seconds(10.0) + LEASE }));
}

#[test]
fn a_lease_that_was_made_perhaps_counts_after_its_duration_too() {
    let now = Instant::now();
    let mut election = election(now);
    election.read(now, Ok(None));
    let lease_write = claim_of(election.step(now));
    election.wrote(now, now, &lease_write, Err(()));
    let later = now + seconds(2.0);
    assert_eq!(election.step(later), ElectionStep::Read);
    election.read(later, Ok(Some(record(Some("me"), "1"))));
    let lease_write = claim_of(election.step(later));
    election.wrote(later, later, &lease_write, Ok(record(Some("me"), "2")));
    assert_eq!(election.hold(later), None);
    assert_eq!(election.quiet_until(later), Some(later + seconds(11.25)));
}

#[test]
fn a_lease_that_was_let_go_is_taken_at_once() {
    let now = Instant::now();
    let mut election = election(now);
    election.step(now);
    election.read(now, Ok(Some(record(None, "7"))));
    let lease_write = claim_of(election.step(now));
    assert_eq!((lease_write.version.as_deref(), lease_write.is_transition), (Some("7"), true));
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
            ElectionStep::Write(lease_write) => panic!("{lease_write:?} after {:?}", now - start),
        }
    }
    assert_eq!(now, start + seconds(11.25));
    assert_eq!(claim_of(election.step(now)).version.as_deref(), Some("1"));
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
    let longer = LeaseRecord { timings: LeaseTimings::new(Duration::from_secs(40)), ..record(Some("peer"), "1") };
    election.read(start, Ok(Some(longer)));
    assert!(election.leader(start + seconds(44.9)).is_some());
    assert!(election.leader(start + seconds(45.1)).is_none());
}

#[test]
fn a_hold_counts_from_before_its_renewal_was_sent() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    let lease_write = claim_of(election.step(sent));
    assert!(!lease_write.is_transition);
    election.wrote(sent, sent + seconds(1.5), &lease_write, Ok(record(Some("me"), "3")));
    assert_eq!(election.hold(sent), Some(Hold { term: 1, until: sent + LEASE }));
}

#[test]
fn a_renewal_whose_answer_comes_after_it_ran_out_is_no_hold() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    let lease_write = claim_of(election.step(sent));
    let thawed = sent + LEASE;
    election.wrote(sent, thawed, &lease_write, Ok(record(Some("me"), "3")));
    assert_eq!(election.hold(thawed), None);
}

#[test]
fn a_renewal_with_an_unknown_end_changes_nothing_until_the_lease_is_read() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    let lease_write = claim_of(election.step(sent));
    election.wrote(sent, sent + seconds(2.0), &lease_write, Err(()));
    assert_eq!(election.hold(sent).unwrap().until, now + LEASE);
    let next = sent + seconds(2.5);
    assert_eq!(election.step(next), ElectionStep::Read);
    election.read(next, Ok(Some(record(Some("me"), "3"))));
    assert_eq!(claim_of(election.step(next)).version.as_deref(), Some("3"));
}

#[test]
fn who_took_the_lease_ends_our_hold_at_once() {
    let now = Instant::now();
    let mut election = leading(now);
    let sent = now + seconds(2.0);
    let lease_write = claim_of(election.step(sent));
    election.wrote(sent, sent, &lease_write, Err(()));
    assert_eq!(election.step(sent + seconds(0.5)), ElectionStep::Read);
    election.read(sent, Ok(Some(record(Some("peer"), "9"))));
    assert_eq!(election.hold(sent), None);
    assert_eq!(election.leader(sent).unwrap().holder.as_deref(), Some("peer"));
}

#[test]
fn a_lease_that_vanished_ends_our_hold_and_is_made_again() {
    let now = Instant::now();
    let mut election = leading(now);
    election.read(now, Ok(None));
    assert_eq!(election.hold(now), None);
    let later = now + seconds(2.0);
    let lease_write = claim_of(election.step(later));
    assert_eq!(lease_write.version, None);
    election.wrote(later, later, &lease_write, Ok(record(Some("me"), "1")));
    assert_eq!(election.hold(later), None);
}

#[test]
fn a_hold_that_ran_out_and_is_taken_again_is_a_new_term() {
    let now = Instant::now();
    let mut election = leading(now);
    let thawed = now + seconds(60.0);
    let lease_write = claim_of(election.step(thawed));
    assert_eq!(election.hold(thawed), None);
    election.wrote(thawed, thawed, &lease_write, Ok(record(Some("me"), "3")));
    assert_eq!(election.hold(thawed).unwrap().term, 2);
}

#[test]
fn letting_go_clears_the_holder_and_ends_the_hold_before_it_is_written() {
    let now = Instant::now();
    let mut election = leading(now);
    let lease_write = election.release(now).unwrap();
    assert_eq!(lease_write, LeaseWrite { version: Some("2".into()), holder: None, is_transition: false });
    assert_eq!(election.hold(now), None);
    election.wrote(now, now, &lease_write, Ok(record(None, "3")));
    assert_eq!(election.hold(now), None);
    assert!(matches!(election.step(now + LEASE), ElectionStep::Wait(_)));
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
