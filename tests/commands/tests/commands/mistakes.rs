//! The answers of commands to mistakes of their users.

use std::fs;

use plimsoll_commands::plimsoll;
use plimsoll_harness::{guest, tempdir};

#[test]
fn the_source_folder_of_a_policy_is_not_taken_for_a_directory_of_policies() {
    let directory = tempdir().unwrap();
    let print = |args: &[&str]| plimsoll(directory.path(), args).unwrap();
    assert_eq!(print(&["new", "--lang", "c", "needs-label"]).code, Some(0));
    let why = |first: &str| {
        format!(
            "the folder of a policy's source, with Makefile and cases, but no .wasm: {first}give needs-label/policies\n"
        )
    };
    let about =
        ["--no-compile-cache", "--sample", "--policies", "needs-label", "--pod", "needs-label/pods/needs-gpu.yaml"];
    let commands: [&[&str]; 2] = [&["run"], &["explain", "--node", "node-000"]];
    for first in ["run `make deploy` there, then ", ""] {
        for command in commands {
            let printed = print(&[command, &about].concat());
            let expected = format!("plimsoll: needs-label is {}", why(first));
            assert_eq!((printed.code, printed.err), (Some(2), expected), "{command:?}");
        }
        let printed = print(&["check", "--no-compile-cache", "needs-label"]);
        assert_eq!((printed.code, printed.out), (Some(1), format!("needs-label: REFUSED, it is {}", why(first))));
        // As `make deploy` does.
        fs::create_dir_all(directory.path().join("needs-label/policies")).unwrap();
        fs::copy(guest("zone_drain_v1"), directory.path().join("needs-label/policies/needs-label.wasm")).unwrap();
    }
    assert_eq!(print(&["check", "--no-compile-cache", "needs-label/policies"]).code, Some(0));
    // A directory of policies may have a Makefile, and groups of any name.
    fs::rename(directory.path().join("needs-label/policies"), directory.path().join("needs-label/team")).unwrap();
    fs::remove_dir_all(directory.path().join("needs-label/cases")).unwrap();
    let printed = print(&["check", "--no-compile-cache", "needs-label"]);
    assert!(printed.out.contains("needs-label: team/needs-label: accepted\n"), "{printed:?}");
}

#[test]
fn new_lists_the_languages_and_takes_their_other_names() {
    let directory = tempdir().unwrap();
    let print = |args: &[&str]| plimsoll(directory.path(), args).unwrap();
    let printed = print(&["new", "needs-label"]);
    assert!(printed.code == Some(2) && printed.err.contains("--lang <cel|rust|go|c|python|typescript|assemblyscript>"));
    for (name, language) in [("c++", "C"), ("ts", "TypeScript"), ("py", "Python")] {
        let printed = print(&["new", "--lang", name, &format!("in-{language}").to_lowercase()]);
        assert!(printed.out.contains(&format!("has a policy in {language}:")), "{name}: {printed:?}");
    }
}
