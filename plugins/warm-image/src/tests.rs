use plimsoll_policy::testing::{World, node, pod, run_cases, settings};

use super::*;

#[test]
fn every_case_holds() {
    run_cases::<WarmImage>("cases");
}

#[test]
fn a_score_is_never_above_one_hundred() {
    let policy: WarmImage = settings("{by: bytes, full: '1'}").unwrap();
    let world = World::new(pod("p").image("a:1").image("b:1"))
        .node(node("huge").image("a:1", u64::MAX))
        .node(node("all").image("a:1", u64::MAX).image("b:1", u64::MAX));
    assert_eq!(world.score(&policy, "huge"), 99);
    assert_eq!(world.score(&policy, "all"), 100);
}

#[test]
fn settings_may_be_left_out() {
    assert!(settings::<WarmImage>("null").is_ok());
    let error = |yaml| settings::<WarmImage>(yaml).unwrap_err();
    assert!(settings::<WarmImage>("full: 1").is_ok());
    assert_eq!(error("full: true"), "full: expected a quantity such as 512Mi, 500m or 3, found true");
    assert_eq!(error("full: '0'"), "full: expected more than 0 bytes");
    assert_eq!(error("by: size"), "by: expected images or bytes, found \"size\"");
}
