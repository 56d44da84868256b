use std::{thread, time::Duration};

use super::*;

const MIB: usize = 1 << 20;

fn permit(shares: &Arc<Shares>, policy: &str, class: CallClass, deadline: Instant) -> Option<Charge> {
    shares.permit(payer(policy, class), deadline).map(|(permit, _)| permit)
}

fn payer(policy: &str, class: CallClass) -> Payer {
    Payer { policy: Arc::from(policy), class }
}

fn at_once(shares: &Arc<Shares>, policy: &str, class: CallClass) -> Option<Charge> {
    permit(shares, policy, class, Instant::now())
}

/// As much memory as a call gets, in steps.
fn fill(shares: &Arc<Shares>, permit: &Charge) -> Charge {
    let mut charge = Charge::new(shares, permit.payer.clone());
    while charge.grow(MIB).is_ok() {}
    charge
}

#[test]
fn a_policy_has_half_of_the_permits_and_one_at_least() {
    for (total, half) in [(1, 1), (2, 1), (3, 1), (4, 2), (16, 8), (64, 32)] {
        let shares = Shares::new(total, MIB);
        let held: Vec<_> = std::iter::from_fn(|| at_once(&shares, "hog", CallClass::Decision)).collect();
        assert_eq!(held.len(), half, "{total}");
        assert_eq!(at_once(&shares, "good", CallClass::Decision).is_some(), total > 1, "{total}");
    }
}

#[test]
fn background_calls_have_a_quarter_and_decisions_all_that_they_leave() {
    for (total, background) in [(1, 1), (4, 1), (16, 4), (64, 16)] {
        let shares = Shares::new(total, MIB);
        let all = |class| (0..100).map(move |at| (at, class));
        let take = |(at, class)| at_once(&shares, &format!("p{at}"), class);
        let mut held: Vec<_> = all(CallClass::Background).filter_map(take).collect();
        assert_eq!(held.len(), background, "{total}");
        held.extend(all(CallClass::Decision).filter_map(take));
        assert_eq!(held.len(), total as usize);
    }
}

#[test]
fn a_call_beyond_the_bound_waits_until_its_deadline() {
    let shares = Shares::new(1, MIB);
    let soon = || Instant::now() + Duration::from_millis(5);
    let first = at_once(&shares, "a", CallClass::Decision).unwrap();
    assert!(permit(&shares, "b", CallClass::Decision, soon()).is_none());
    drop(first);
    assert!(at_once(&shares, "b", CallClass::Decision).is_some());
    assert_eq!(shares.in_use(), SharesInUse { waited: 1, refused_calls: 1, max_bytes: MIB, ..SharesInUse::default() });
}

#[test]
fn permits_that_are_released_go_to_those_who_wait() {
    let shares = Shares::new(2, MIB);
    let deadline = Instant::now() + Duration::from_secs(20);
    thread::scope(|scope| {
        for at in 0..8 {
            let (shares, class) = (&shares, CallClass::ALL[at % 2]);
            let name = format!("p{}", at % 3);
            scope.spawn(move || (0..200).for_each(|_| drop(permit(shares, &name, class, deadline).unwrap())));
        }
    });
    let in_use = shares.in_use();
    assert_eq!((in_use.calls, in_use.waiting), ([0, 0], 0));
    assert!(shares.state.lock().policies.is_empty());
}

#[test]
fn a_policy_has_half_of_the_memory_or_one_call_with_all_that_is_left() {
    let shares = Shares::new(64, 100 * MIB);
    let permits = ["hog", "hog", "good"].map(|name| at_once(&shares, name, CallClass::Decision).unwrap());
    let hogs = [&permits[0], &permits[1]].map(|permit| fill(&shares, permit));
    assert_eq!(shares.in_use().bytes, 50 * MIB);
    let good = fill(&shares, &permits[2]);
    assert_eq!(shares.in_use().bytes, 100 * MIB);
    drop((hogs, permits, good));
    assert_eq!(shares.in_use().bytes, 0);
    assert!(shares.state.lock().policies.is_empty());
}

#[test]
fn background_calls_have_a_quarter_of_the_memory() {
    let shares = Shares::new(64, 100 * MIB);
    let all: Vec<_> = (0..8)
        .map(|at| {
            let permit = at_once(&shares, &format!("p{at}"), CallClass::Background).unwrap();
            (fill(&shares, &permit), permit)
        })
        .collect();
    assert_eq!(shares.in_use().bytes, 25 * MIB);
    drop(all);
    assert_eq!(shares.in_use().bytes, 0);
}

#[test]
fn spares_have_half_of_the_memory_and_give_it_back_to_calls() {
    let shares = Shares::new(64, 100 * MIB);
    let warm: Arc<Mutex<Vec<Charge>>> = Arc::default();
    let theirs = Arc::clone(&warm);
    shares.drop_spares_with(move || !mem::take(&mut *theirs.lock()).is_empty());
    let add_spare = |mib: usize| {
        let mut spare = Charge::new(&shares, None);
        spare.grow(mib * MIB).map(|()| warm.lock().push(spare))
    };
    add_spare(50).unwrap();
    assert!(add_spare(1).is_err(), "half is left for calls");
    assert_eq!(shares.in_use().refused_memory, 0);
    let permit = at_once(&shares, "p", CallClass::Decision).unwrap();
    let mut call = Charge::new(&shares, permit.payer.clone());
    call.grow(60 * MIB).unwrap();
    assert_eq!(shares.in_use().bytes, 60 * MIB, "the spares are gone");
    assert!(call.grow(41 * MIB).is_err());
    assert_eq!(shares.in_use().refused_memory, 1);
}

#[test]
fn a_spare_counts_for_the_call_that_takes_it() {
    let shares = Shares::new(64, 100 * MIB);
    let mut spare = Charge::new(&shares, None);
    spare.grow(40 * MIB).unwrap();
    let permit = at_once(&shares, "p", CallClass::Decision).unwrap();
    spare.assign(permit.payer.clone().unwrap()).unwrap();
    assert_eq!(shares.state.lock().policies["p"].bytes, 40 * MIB);
    assert_eq!((shares.in_use().bytes, shares.state.lock().spares), (40 * MIB, 0));
    drop((spare, permit));
    assert_eq!(shares.in_use().bytes, 0);
}
