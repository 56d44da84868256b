//! prioritize: weights, ranks, and nodes that no policy can be asked about.

use super::fixture::*;
use crate::{
    decide::{ScoreScale, TieBreak},
    model::{FaultKind, Mode, OnError, Read, Value},
};

fn by_place(scores: &'static [u32]) -> FakePolicy {
    FakePolicy::default().score_each(|_, node| scores[node as usize])
}

#[test]
fn the_score_is_the_weighted_mean_of_scores_and_ranks() {
    let rank = FakePolicy::default().rank(|_| Ok(vec![0, 50, 100]));
    let fixture = Fixture::of([
        mk_member("score", by_place(&[100, 50, 0]), |config| config.weight = 3),
        mk_member("rank", rank, |_| {}),
    ]);
    // (3 * 100 + 0) / 4 = 75 -> 8 of 10; 50 -> 5; 25 -> 3 (2.5 is rounded up).
    assert_eq!(fixture.prioritize(&["n1", "n2", "n3"]), Ok(vec![8, 5, 3]));
}

#[test]
fn a_policy_with_both_verbs_counts_for_both() {
    let both = by_place(&[100, 0, 0]).rank(|_| Ok(vec![100, 100, 0]));
    assert_eq!(Fixture::of([mk_member("p", both, |_| {})]).prioritize(&["n1", "n2", "n3"]), Ok(vec![10, 5, 0]));
}

#[test]
fn a_rank_sees_all_the_nodes_of_the_request() {
    let rank = FakePolicy::default().rank(|ask| {
        assert_eq!(ask.view.read(Read::NodesCount), Ok(Value::Number(2)));
        Ok((0..2).map(|node| if name_of(&ask.view, node) == "n3" { 100 } else { 0 }).collect())
    });
    assert_eq!(Fixture::of([mk_member("p", rank, |_| {})]).prioritize(&["n3", "n1"]), Ok(vec![10, 0]));
}

#[test]
fn a_policy_without_weight_is_not_asked() {
    let fixture = Fixture::of([
        mk_member("none", by_place(&[100, 100, 100]), |config| config.weight = 0),
        mk_member("some", by_place(&[0, 20, 40]), |_| {}),
    ]);
    assert_eq!(fixture.prioritize(&["n1", "n2", "n3"]), Ok(vec![0, 2, 4]));
    assert_eq!(fixture.asked(), ["some"]);
}

#[test]
fn a_faulty_policy_takes_its_weight_with_it() {
    let fixture = Fixture::of([
        mk_member("bad", mk_failing(FaultKind::Trap), |config| {
            (config.weight, config.on_error) = (9, Some(OnError::Ignore));
        }),
        mk_member("good", by_place(&[80, 60, 0]), |_| {}),
    ]);
    assert_eq!(fixture.prioritize(&["n1", "n2", "n3"]), Ok(vec![8, 6, 0]));
}

#[test]
fn with_nothing_to_ask_every_node_scores_zero() {
    assert_eq!(Fixture::of([]).prioritize(&["n1", "unheard-of"]), Ok(vec![0, 0]));
    let fixture = Fixture::of([mk_member("p", by_place(&[100]), |_| {})]);
    assert_eq!(fixture.prioritize(&[]), Ok(vec![]));
    assert_eq!(fixture.prioritize(&["unheard-of"]), Ok(vec![0]));
    assert_eq!(fixture.asked(), [""; 0]);
    let off = mk_member("p", by_place(&[100]), |config| config.mode = Mode::Off);
    assert_eq!(Fixture::of([off]).prioritize(&["n1"]), Ok(vec![0]));
}

#[test]
fn a_name_that_the_cluster_does_not_know_scores_zero_in_its_place() {
    let fixture = Fixture::of([mk_member("p", by_place(&[100, 40]), |_| {})]);
    assert_eq!(fixture.prioritize(&["n1", "unheard-of", "n2"]), Ok(vec![10, 0, 4]));
}

const BY_NAME: ScoreScale = ScoreScale::FineWith(TieBreak::Name);
const SPREAD: ScoreScale = ScoreScale::FineWith(TieBreak::Spread);

#[test]
fn a_point_that_a_coarse_score_loses_is_in_a_fine_one() {
    let fixture = Fixture::of([mk_member("p", by_place(&[61, 64, 64]), |_| {})]);
    let nodes = ["n1", "unheard-of", "n3", "n2"];
    assert_eq!(fixture.prioritize(&nodes), Ok(vec![6, 0, 6, 6]));
    assert_eq!(fixture.prioritize_on(ScoreScale::Fine, &nodes), Ok(vec![6_100, 0, 6_400, 6_400]));
    // A point has 10,000,000, of which the tie-break has a sixteenth: here three shares of it.
    assert_eq!(fixture.prioritize_on(BY_NAME, &nodes), Ok(vec![610_416_666, 0, 640_000_000, 640_208_333]));
}

#[test]
fn replicas_break_ties_alike_although_their_views_differ() {
    let score = |nodes: &[&str], scale| {
        let cluster = mk_cluster(&nodes.iter().map(|name| mk_node(name, &[])).collect::<Vec<_>>(), &[]);
        let member = mk_member("p", FakePolicy::default().score_each(|_, _| 50), |_| {});
        Fixture::new(vec![member], Some(cluster)).prioritize_on(scale, &["b", "a", "c"]).unwrap()
    };
    let (one, other) = (["a", "b", "c"], ["x", "c", "b", "a0", "a"]);
    assert_eq!(score(&one, SPREAD), score(&other, SPREAD));
    for nodes in [&one[..], &other] {
        let scores = score(nodes, BY_NAME);
        assert!(scores[1] > scores[0] && scores[0] > scores[2], "{scores:?}");
    }
}

#[test]
fn a_tie_break_follows_nodes_that_come_go_and_change_their_slots() {
    let fixture = Fixture::of([mk_member("p", FakePolicy::default().score_each(|_, _| 7), |_| {})]);
    let best = |nodes: &[&str]| {
        let scores = fixture.prioritize_on(BY_NAME, nodes).unwrap();
        nodes[(0..nodes.len()).max_by_key(|at| scores[*at]).unwrap()].to_owned()
    };
    assert_eq!(best(&["n3", "n2", "n1"]), "n1");
    for nodes in [&["n3", "n2"][..], &["n0", "n3", "n2"], &["n2", "n3", "m"]] {
        let before = fixture.gateway.cluster().unwrap();
        let slots = mk_cluster(&nodes.iter().map(|name| mk_node(name, &[])).collect::<Vec<_>>(), &[]);
        fixture.gateway.set_cluster(before.successor(slots.slots().clone()).into());
        assert_eq!(best(nodes), *nodes.iter().min().unwrap());
    }
}

#[test]
fn with_nothing_to_ask_no_tie_is_broken() {
    for scale in ScoreScale::ALL {
        assert_eq!(Fixture::of([]).prioritize_on(scale, &["n1", "n2", "unheard-of"]), Ok(vec![0, 0, 0]));
        let failing = mk_member("bad", mk_failing(FaultKind::Trap), |_| {});
        assert_eq!(Fixture::of([failing]).prioritize_on(scale, &["n1", "n2"]), Ok(vec![0, 0]));
    }
}

#[test]
fn the_largest_weights_do_not_overflow_on_any_scale() {
    for scale in ScoreScale::ALL {
        let members = ["a", "b", "c"].map(|name| mk_member(name, by_place(&[100]), |config| config.weight = u32::MAX));
        assert_eq!(Fixture::of(members).prioritize_on(scale, &["n1"]), Ok(vec![scale.max()]));
    }
}
