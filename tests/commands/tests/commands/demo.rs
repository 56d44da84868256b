//! `plimsoll demo`.

use std::fs;

use plimsoll_harness::{policies, tempdir};

use crate::{run, text};

#[test]
fn the_demo_tells_its_story_without_a_failed_call() {
    let directory = tempdir().unwrap();
    policies();
    // As few pods as it takes, and twice: what the first has made, the second replaces.
    run(&["demo", "--pods", "9", "--directory", text(directory.path())]);
    let printed = run(&["demo", "--pods", "9", "--directory", text(directory.path())]);
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

#[test]
fn the_demo_leaves_directories_alone_that_it_did_not_make() {
    let directory = tempdir().unwrap();
    policies();
    let (kept, policy) = (directory.path().join("keep/file"), directory.path().join("policies/own.yaml"));
    for file in [&kept, &policy] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "precious").unwrap();
    }
    let refused = |why: &str| {
        let printed = run(&["demo", "--directory", text(directory.path())]);
        assert_eq!(printed.code, Some(2), "{printed:?}");
        assert!(printed.err.contains(why), "{}", printed.err);
        for file in [&kept, &policy] {
            assert_eq!(fs::read_to_string(file).unwrap(), "precious");
        }
    };
    refused("is not empty, and no demo has made it");
    // Its own directory, in which somebody has put a policy; and a list that names what is not the demo's.
    fs::write(directory.path().join(".plimsoll-demo"), "policies/zone-drain.wasm\n../keep/file\nkeep/file\n").unwrap();
    refused("own.yaml is not the demo's");
    let printed = run(&["demo", "--pods", "6", "--directory", "absent"]);
    assert_eq!(printed.code, Some(2), "{printed:?}");
    assert!(printed.err.contains("9..=10000"), "{}", printed.err);
}
