//! Nominated pods do not count at bind.

use super::{
    super::fixture::{FakePolicy, mk_member, unschedulable},
    Desk, looks_around, mk_waiting, unbound,
};
use crate::{
    decide::{BindOutcome, Unbound},
    model::{Read, Selector, Value, Verdict},
};

#[test]
fn of_two_pods_that_are_nominated_for_the_last_place_the_first_is_bound() {
    let counts = FakePolicy::default().filter_each(|view, node| {
        let one = Ok(Value::Number(0));
        let is_free =
            view.read(Read::PlacedCount(node)) == one && view.read(Read::ClusterCount(Selector::all())) == one;
        if is_free { Verdict::Fits } else { unschedulable("full") }
    });
    let members = vec![
        mk_member("seen", looks_around(), |_| {}),
        mk_member("limit", counts.function().importing(&["placed.count", "cluster.count"]), |_| {}),
    ];
    let desk = Desk::new(members, vec![mk_waiting("p"), mk_waiting("q")]);
    for name in ["p", "q"] {
        desk.api.nominate(name, "n1");
    }
    assert_eq!(desk.fixture.filter(&["n1"]).unwrap()["n1"].0, "limit: full", "a filter counts both");
    assert_eq!(desk.bind("p", "n1"), Ok(BindOutcome::Bound));
    assert_eq!(desk.api.writes()[0].annotations["e.com/seen"].as_ref(), "");
    assert!(matches!(unbound(&desk.bind("q", "n1").unwrap_err()), Unbound::Refused(_)));
}
