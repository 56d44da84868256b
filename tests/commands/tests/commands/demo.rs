//! `plimsoll demo`.

use plimsoll_harness::{policies, tempdir};

use crate::{run, text};

#[test]
fn the_demo_tells_its_story_without_a_failed_call() {
    let directory = tempdir().unwrap();
    policies();
    let printed = run(&["demo", "--directory", text(directory.path())]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    for expected in [
        "zone c is being drained",
        "zone a is being drained",
        "first answer by it",
        "outcome=\"panic\"",
        "may be preempted",
        "would still be refused",
        "failed calls: 0",
        "Next:",
    ] {
        assert!(printed.out.contains(expected), "`{expected}` is missing in\n{}", printed.out);
    }
}
