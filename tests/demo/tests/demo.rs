//! `make demo`, as a process.
#![allow(clippy::unwrap_used, reason = "a failed step fails its test")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use plimsoll_harness::{policies, tempdir, workspace};

#[test]
fn the_demo_tells_its_story_without_a_failed_call() {
    let directory = tempdir().unwrap();
    // As few pods as it takes, and twice: the second run replaces the files of the first.
    run(directory.path(), &["--pods", "9"]);
    let (code, out, err) = run(directory.path(), &["--pods", "9"]);
    assert_eq!(code, Some(0), "{out}{err}");
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
        assert!(out.contains(expected), "`{expected}` is missing in\n{out}");
    }
}

#[test]
fn variables_of_the_gateway_do_not_change_the_demo() {
    let directory = tempdir().unwrap();
    let absent = ["PLIMSOLL_POLICIES", "PLIMSOLL_SNAPSHOT", "PLIMSOLL_TLS_CERT"].map(|name| (name, "absent"));
    let output = demo(directory.path(), &["--pods", "9"]).envs(absent).output().unwrap();
    let (code, out, err) = printed(output);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("failed calls: 0"), "{out}");
}

#[test]
fn the_demo_leaves_directories_alone_that_it_did_not_make() {
    let directory = tempdir().unwrap();
    let policy = directory.path().join("policies/own.yaml");
    fs::create_dir(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "precious").unwrap();
    let (code, _, err) = run(directory.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("is not empty, and no demo has made it"), "{err}");
    assert_eq!(fs::read_to_string(&policy).unwrap(), "precious");
}

fn run(directory: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    printed(demo(directory, args).output().unwrap())
}

fn demo(directory: &Path, args: &[&str]) -> Command {
    // Built before any test runs; the demo says so if they are missing.
    policies();
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll-demo"));
    command.current_dir(workspace()).arg("--directory").arg(directory).args(args);
    command
}

/// Exit code, standard output and standard error.
fn printed(output: Output) -> (Option<i32>, String, String) {
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}
