//! The answers of commands to mistakes of their users.

use std::fs;

use plimsoll_commands::plimsoll;
use plimsoll_harness::{guest, policies, tempdir};

use crate::{POD, hostile, run, text};

#[test]
fn an_unknown_node_is_an_error_that_names_similar_ones() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let rest = ["--no-compile-cache", "--sample", "--policies", text(policies()), "--pod", text(&pod)];
    let cases = [
        ("node-1990", "plimsoll: the cluster has no node 'node-1990'; similar names: node-190, node-199, node-090\n"),
        ("worker", "plimsoll: the cluster has no node 'worker'; it has node-000, node-001, node-002 and 197 more\n"),
    ];
    for (node, expected) in cases {
        for command in ["run", "explain"] {
            let printed = run(&[&[command, "--node", node], &rest[..]].concat());
            assert_eq!(
                (printed.code, printed.out.as_str(), printed.err.as_str()),
                (Some(2), "", expected),
                "{command}"
            );
        }
    }
}

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
    let expected = "plimsoll: in which language? --lang takes one of rust, go, c, python, typescript, assemblyscript\n";
    assert_eq!((printed.code, printed.err.as_str()), (Some(2), expected));
    let help = print(&["new", "--help"]).out;
    let names = [
        ("golang", "Go"),
        ("rs", "Rust"),
        ("c++", "C"),
        ("cpp", "C"),
        ("py", "Python"),
        ("ts", "TypeScript"),
        ("js", "TypeScript"),
        ("javascript", "TypeScript"),
    ];
    for (at, (name, language)) in names.into_iter().enumerate() {
        let printed = print(&["new", "--lang", name, &format!("p{at}")]);
        assert!(printed.out.contains(&format!("has a policy in {language}:")), "{name}: {printed:?}");
        let is_listed = |word: &str| word == name;
        assert!(help.split(|c: char| c.is_whitespace() || ",]".contains(c)).any(is_listed), "{name} is not in\n{help}");
    }
}

/// The call for the decision and the call for the table may be about other nodes, and end in the same fault.
#[test]
fn run_says_once_why_there_is_no_decision() {
    let directory = tempdir().unwrap();
    let (pod, dir) = (directory.path().join("pod.json"), directory.path().join("policies"));
    fs::create_dir(&dir).unwrap();
    fs::write(&pod, POD).unwrap();
    fs::write(dir.join("broken.wasm"), hostile("trap_after_read")).unwrap();
    let on = ["run", "--no-compile-cache", "--sample", "--policies", text(&dir), "--pod", text(&pod)];
    for node in [&[][..], &["--node", "node-003"]] {
        let printed = run(&[&on[..], node].concat());
        assert_eq!(printed.code, Some(1), "{printed:?}");
        assert_eq!(printed.out.matches("trap: ").count(), 1, "{}", printed.out);
        assert!(printed.out.contains("no decision: policy broken failed (onError: fail): trap: "), "{}", printed.out);
    }
}
