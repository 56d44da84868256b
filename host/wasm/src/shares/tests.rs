use std::{thread, time::Duration};

use super::*;

const MIB: usize = 1 << 20;

/// A permit for a call without a known need of memory.
fn permit<'s>(shares: &'s Shares, name: &str, class: CallClass, deadline: Instant) -> Option<CallPermit<'s>> {
    shares.permit(ShareRequest { policy: Arc::from(name), class, bytes: 0 }, deadline)
}

fn at_once<'s>(shares: &'s Shares, name: &str, class: CallClass) -> Option<CallPermit<'s>> {
    permit(shares, name, class, Instant::now())
}

/// As many permits as a policy gets without waiting.
fn all_of<'s>(shares: &'s Shares, name: &str, class: CallClass) -> Vec<CallPermit<'s>> {
    std::iter::from_fn(|| at_once(shares, name, class)).collect()
}

/// As much memory as a call gets, in steps.
fn fill(shares: &Arc<Shares>, permit: &mut CallPermit<'_>) -> MemoryCharge {
    let mut reservation = MemoryCharge::of_call(shares, permit);
    while reservation.grow(MIB).is_ok() {}
    reservation
}

#[test]
fn policies_that_take_all_they_can_leave_a_permit_for_each_other_one() {
    for total in [2, 3, 4, 16, 64] {
        let shares = Shares::new(total, MIB);
        let hogs = total.ilog2() as usize;
        let mut held = Vec::new();
        for hog in 0..hogs {
            let permits = all_of(&shares, &format!("hog-{hog}"), CallClass::Decision);
            assert!(!permits.is_empty() && permits.len() <= (total as usize).div_ceil(2), "{total}: {}", permits.len());
            held.push(permits);
        }
        let good = at_once(&shares, "good", CallClass::Decision);
        assert!(good.is_some(), "{total} permits, {hogs} hogs");
    }
    let shares = Shares::new(64, MIB);
    let hogs = ["a", "b"].map(|hog| all_of(&shares, hog, CallClass::Decision).len());
    assert_eq!(hogs, [0; 2].map(|_| 32), "what is given back is there again");
}

#[test]
fn background_calls_have_a_quarter_and_decisions_all_that_they_leave() {
    for (total, background) in [(1, 1), (4, 1), (16, 4), (64, 16)] {
        let shares = Shares::new(total, MIB);
        let mut held: Vec<_> =
            (0..100).filter_map(|at| at_once(&shares, &format!("p{at}"), CallClass::Background)).collect();
        assert_eq!(held.len(), background, "{total}");
        let deciding = (0..100).filter_map(|at| at_once(&shares, &format!("p{at}"), CallClass::Decision));
        held.extend(deciding.collect::<Vec<_>>());
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
fn permits_that_are_given_back_go_to_those_who_wait() {
    let shares = Shares::new(2, MIB);
    let deadline = Instant::now() + Duration::from_secs(20);
    thread::scope(|scope| {
        for at in 0..8 {
            let (shares, class) = (&shares, CallClass::ALL[at % 2]);
            let name = format!("p{}", at % 3);
            scope.spawn(move || (0..200).for_each(|_| drop(permit(shares, &name, class, deadline).unwrap())));
        }
    });
    assert!(Instant::now() < deadline);
    let in_use = shares.in_use();
    assert_eq!((in_use.calls, in_use.waiting), ([0, 0], 0));
    assert!(shares.state.lock().holders.is_empty());
}

#[test]
fn a_decision_that_waits_goes_before_background_calls_that_waited_longer() {
    let shares = Shares::new(1, MIB);
    let (deadline, order) = (Instant::now() + Duration::from_secs(20), Mutex::new(Vec::new()));
    let first = permit(&shares, "a", CallClass::Decision, deadline).unwrap();
    thread::scope(|scope| {
        for (at, class) in [CallClass::Background, CallClass::Decision].into_iter().enumerate() {
            let (shares, order) = (&shares, &order);
            scope.spawn(move || {
                let _permit = permit(shares, "b", class, deadline).unwrap();
                order.lock().push(class);
            });
            while shares.in_use().waiting <= at {
                assert!(Instant::now() < deadline, "it does not wait");
                thread::yield_now();
            }
        }
        drop(first);
    });
    assert_eq!(*order.lock(), [CallClass::Decision, CallClass::Background]);
}

#[test]
fn many_calls_of_one_policy_leave_as_much_memory_as_they_hold() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let mut permits = ["hog", "hog", "good"].map(|name| at_once(&shares, name, CallClass::Decision).unwrap());
    let [first, second, good] = permits.each_mut();
    let hogs = [first, second].map(|permit| fill(&shares, permit));
    assert_eq!(shares.in_use().bytes, 50 * MIB);
    let good = fill(&shares, good);
    assert_eq!(shares.in_use().bytes, 100 * MIB, "a single call may have all that is left");
    drop((hogs, permits, good));
    assert_eq!(shares.in_use().bytes, 0);
    assert!(shares.state.lock().holders.is_empty());
}

#[test]
fn background_calls_have_a_quarter_of_the_memory() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let all: Vec<_> = (0..8)
        .map(|at| {
            let mut permit = at_once(&shares, &format!("p{at}"), CallClass::Background).unwrap();
            (fill(&shares, &mut permit), permit)
        })
        .collect();
    assert_eq!(shares.in_use().bytes, 25 * MIB);
    drop(all);
    assert_eq!(shares.in_use().bytes, 0);
}

#[test]
fn a_call_waits_for_the_memory_that_such_calls_need() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let request = |name: &str| ShareRequest { policy: Arc::from(name), class: CallClass::Decision, bytes: 30 * MIB };
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut first = shares.permit(request("p"), deadline).unwrap();
    let reservation = MemoryCharge::of_call(&shares, &mut first);
    let second = shares.permit(request("p"), deadline).unwrap();
    assert!(shares.permit(request("p"), Instant::now()).is_none(), "60 are held, 40 are left");
    assert!(shares.permit(request("other"), Instant::now()).is_some());
    drop(first);
    thread::scope(|scope| {
        let third = scope.spawn(|| shares.permit(request("p"), deadline).map(drop));
        while shares.in_use().waiting == 0 {
            assert!(Instant::now() < deadline, "it does not wait");
            thread::yield_now();
        }
        drop(reservation);
        assert!(third.join().unwrap().is_some());
    });
    drop(second);
    assert_eq!(shares.in_use().bytes, 0);
}

#[test]
fn an_instance_that_waited_counts_for_the_call_that_takes_it() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let mut warm = MemoryCharge::warm(&shares);
    assert!(warm.grow(40 * MIB).is_ok());
    assert!(MemoryCharge::warm(&shares).grow(11 * MIB).is_err(), "half is left for calls");
    assert_eq!(shares.in_use().refused_memory, 0);
    let request = ShareRequest { policy: Arc::from("p"), class: CallClass::Decision, bytes: 41 * MIB };
    let mut permit = shares.permit(request, Instant::now()).unwrap();
    warm.assign(&mut permit).unwrap();
    assert_eq!(shares.state.lock().held_by("p", CallClass::Decision).bytes, 41 * MIB);
    assert_eq!((shares.in_use().bytes, warm.used()), (41 * MIB, 40 * MIB));
    drop((warm, permit));
    assert_eq!(shares.in_use().bytes, 0);
}

#[test]
fn a_call_that_waits_does_not_take_the_memory_of_an_instance_that_another_call_has_in_hand() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let request = |policy, bytes| ShareRequest { policy: Arc::from(policy), class: CallClass::Decision, bytes };
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut warm = MemoryCharge::warm(&shares);
    assert!(warm.grow(40 * MIB).is_ok());
    let mut permit = shares.permit(request("p", 10 * MIB), deadline).unwrap();
    thread::scope(|scope| {
        let second = scope.spawn(|| shares.permit(request("q", 70 * MIB), deadline).map(drop));
        while shares.in_use().waiting == 0 {
            assert!(Instant::now() < deadline, "it does not wait");
            thread::yield_now();
        }
        assert!(warm.assign(&mut permit).is_ok());
        assert_eq!(shares.in_use().bytes, 40 * MIB, "the other waits");
        drop((warm, permit));
        assert!(second.join().unwrap().is_some());
    });
    assert_eq!(shares.in_use().bytes, 0);
}

#[test]
fn no_warm_instance_is_made_while_a_call_waits_for_memory() {
    let shares = Arc::new(Shares::new(64, 100 * MIB));
    let request = |bytes| ShareRequest { policy: Arc::from("p"), class: CallClass::Decision, bytes };
    let deadline = Instant::now() + Duration::from_secs(20);
    let first = shares.permit(request(40 * MIB), deadline).unwrap();
    assert!(MemoryCharge::warm(&shares).grow(MIB).is_ok(), "there is room");
    thread::scope(|scope| {
        let second = scope.spawn(|| shares.permit(request(70 * MIB), deadline).map(drop));
        while shares.in_use().waiting == 0 {
            assert!(Instant::now() < deadline, "it does not wait");
            thread::yield_now();
        }
        assert!(MemoryCharge::warm(&shares).grow(MIB).is_err(), "the call comes first");
        drop(first);
        assert!(second.join().unwrap().is_some());
    });
    assert!(MemoryCharge::warm(&shares).grow(MIB).is_ok(), "nobody waits");
}
