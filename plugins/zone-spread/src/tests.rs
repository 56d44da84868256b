use plimsoll_policy::testing::{World, node, pod, run_cases, settings};

use super::*;

#[test]
fn every_case_holds() {
    run_cases::<ZoneSpread>("cases");
}

#[test]
fn an_emptier_zone_is_never_below_a_fuller_one() {
    for (fewest, most) in [(0, 1), (0, 7), (3, 4), (5, 5), (99, 1000)] {
        let scores: Vec<u32> = (fewest..=most).map(|pods| share(pods, fewest, most)).collect();
        assert_eq!(scores[0], 100);
        assert!(scores.is_sorted_by(|fewer, more| fewer >= more), "{scores:?}");
    }
}

#[test]
fn a_cluster_without_zones_is_scored_all_the_same() {
    let policy: ZoneSpread = settings("topologyKey: rack").unwrap();
    let world = World::new(pod("p").label("app", "web")).node(node("node-1")).node(node("node-2"));
    assert!(world.rank(&policy).values().all(|score| *score == 0));
}
