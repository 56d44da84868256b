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
        ("node-1990", "plimsoll: the cluster has no node 'node-1990'; similar names: node-199, node-190, node-090\n"),
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
