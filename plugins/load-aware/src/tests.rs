use plimsoll_policy::testing::{World, node, pod, run_cases, settings};

use super::*;

#[test]
fn every_case_holds() {
    run_cases::<LoadAware>("cases/load-aware");
    run_cases::<LoadAware>("cases/load-aware-requested");
}

#[test]
fn a_lower_load_never_has_a_lower_score() {
    let policy: LoadAware = settings("{}").unwrap();
    let score = |load: f64| {
        let world = World::new(pod("p").request("cpu", "100m")).node(node("n").allocatable("cpu", "8"));
        world.fact("load", "n", load).score(&policy, "n")
    };
    let scores: Vec<u32> = (0..=120).map(|percent| score(f64::from(percent) / 100.0)).collect();
    assert!(scores.is_sorted_by(|lower, higher| lower >= higher), "{scores:?}");
    assert_eq!((scores[0], scores[120]), (99, 0));
}

#[test]
fn the_limit_itself_is_allowed() {
    let policy: LoadAware = settings("maxLoad: 0.75").unwrap();
    let fits = |load: f64| {
        let world = World::new(pod("p")).node(node("n").allocatable("cpu", "8")).fact("load", "n", load);
        world.filter(&policy, "n") == Verdict::Fits
    };
    assert!(fits(0.75) && !fits(0.7501));
}
