use std::{thread, time::Duration};

use super::*;

const MIB: usize = 1 << 20;

fn permit(permits: &Arc<Pool>, policy: &str, class: CallClass, deadline: Instant) -> Option<Charge> {
    permits.permit(payer(policy, class), deadline).map(|(permit, _)| permit)
}

fn payer(policy: &str, class: CallClass) -> Payer {
    Payer { policy: Arc::from(policy), class }
}

fn at_once(permits: &Arc<Pool>, policy: &str, class: CallClass) -> Option<Charge> {
    permit(permits, policy, class, Instant::now())
}

/// The memory of a call, which is not empty.
fn memory_of(memory: &Arc<Pool>, policy: &str, class: CallClass) -> Charge {
    let mut charge = Charge::new(memory, Some(payer(policy, class)));
    charge.grow(MIB).unwrap();
    charge
}

/// As much memory as a call gets, in steps.
fn fill(charge: &mut Charge) {
    while charge.grow(MIB).is_ok() {}
}

#[test]
fn a_policy_has_half_of_the_permits_and_one_at_least() {
    for (total, half) in [(1, 1), (2, 1), (3, 1), (4, 2), (16, 8), (64, 32)] {
        let permits = Pool::new(total);
        let held: Vec<_> = std::iter::from_fn(|| at_once(&permits, "hog", CallClass::Decision)).collect();
        assert_eq!(held.len(), half, "{total}");
        assert_eq!(at_once(&permits, "good", CallClass::Decision).is_some(), total > 1, "{total}");
    }
}

#[test]
fn background_calls_have_a_quarter_and_decisions_all_that_they_leave() {
    for (total, background) in [(1, 1), (4, 1), (16, 4), (64, 16)] {
        let permits = Pool::new(total);
        let all = |class| (0..100).map(move |at| (at, class));
        let take = |(at, class)| at_once(&permits, &format!("p{at}"), class);
        let mut held: Vec<_> = all(CallClass::Background).filter_map(take).collect();
        assert_eq!(held.len(), background, "{total}");
        held.extend(all(CallClass::Decision).filter_map(take));
        assert_eq!(held.len(), total);
    }
}

#[test]
fn a_call_beyond_the_bound_waits_until_its_deadline() {
    let permits = Pool::new(1);
    let first = at_once(&permits, "a", CallClass::Decision).unwrap();
    assert!(permit(&permits, "b", CallClass::Decision, Instant::now() + Duration::from_millis(5)).is_none());
    drop(first);
    assert!(at_once(&permits, "b", CallClass::Decision).is_some());
}

#[test]
fn permits_that_are_released_go_to_those_who_wait() {
    let permits = Pool::new(2);
    let deadline = Instant::now() + Duration::from_secs(20);
    thread::scope(|scope| {
        for at in 0..8 {
            let (permits, class) = (&permits, CallClass::ALL[at % 2]);
            let name = format!("p{}", at % 3);
            scope.spawn(move || (0..200).for_each(|_| drop(permit(permits, &name, class, deadline).unwrap())));
        }
    });
    assert!(permits.held.lock().is_empty());
}

#[test]
fn a_policy_has_half_of_the_memory_or_one_call_with_all_that_is_left() {
    let memory = Pool::new(100 * MIB);
    let mut hogs = [(); 2].map(|()| memory_of(&memory, "hog", CallClass::Decision));
    hogs.iter_mut().for_each(fill);
    assert_eq!(memory.held(&Account::All), 50 * MIB);
    let mut good = memory_of(&memory, "good", CallClass::Decision);
    fill(&mut good);
    assert_eq!(memory.held(&Account::All), 100 * MIB);
    drop(hogs);
    fill(&mut good);
    assert_eq!(memory.held(&Account::All), 100 * MIB);
    drop(good);
    assert!(memory.held.lock().is_empty());
}

#[test]
fn background_calls_have_a_quarter_of_the_memory() {
    let memory = Pool::new(100 * MIB);
    let mut all = [0, 1, 2, 3].map(|at| memory_of(&memory, &format!("p{at}"), CallClass::Background));
    all.iter_mut().for_each(fill);
    assert_eq!(memory.held(&Account::All), 25 * MIB);
}

#[test]
fn a_spare_counts_for_the_call_that_takes_it_and_all_spares_have_a_quarter() {
    let memory = Pool::new(100 * MIB);
    let mut spare = Charge::new(&memory, None);
    assert!(spare.grow(26 * MIB).is_err());
    spare.grow(20 * MIB).unwrap();
    spare.assign(payer("p", CallClass::Decision)).unwrap();
    assert_eq!((memory.held(&Account::Policy("p".into())), memory.held(&Account::Spares)), (20 * MIB, 0));
    drop(spare);
    assert!(memory.held.lock().is_empty());
}
