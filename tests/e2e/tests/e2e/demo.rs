//! `make demo-cluster`.

use std::process::Command;

#[test]
fn the_demo_tells_its_story_in_front_of_a_real_scheduler() {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll-demo-cluster")).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    for expected in [
        "zone-drain: zone c is being drained",
        "the pod that had waited",
        "on GPU ",
        "outcome=\"panic\"",
        "preempt-guard protects its pod",
        "its pod was evicted",
        "with its pod gone, too",
        "failed calls: 0",
    ] {
        assert!(printed.contains(expected), "`{expected}` is missing in\n{printed}");
    }
}
