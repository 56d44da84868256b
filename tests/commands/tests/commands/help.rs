//! Features that all commands have in common: help, variables, errors, completions.

use std::fs;

use plimsoll_commands::{matches_golden, plimsoll, plimsoll_with};
use plimsoll_harness::{policies, tempdir};

use crate::{POD, run, text};

#[test]
fn help_is_what_the_golden_files_say() {
    for command in [
        "",
        "serve",
        "new",
        "check",
        "test",
        "conformance",
        "run",
        "explain",
        "scheduler-config",
        "version",
        "completions",
    ] {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        let printed = run(&args);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let name = if command.is_empty() { "help.txt".to_owned() } else { format!("help-{command}.txt") };
        matches_golden(&name, &printed.out).unwrap();
    }
}

#[test]
fn every_flag_of_serve_is_an_environment_variable() {
    let help = run(&["serve", "--help"]).out;
    let flags = help.split("\n      --").skip(1).filter(|flag| !flag.starts_with("help"));
    for flag in flags {
        assert!(flag.contains("[env: PLIMSOLL_"), "--{flag}");
    }
}

#[test]
fn a_variable_that_is_set_to_nothing_counts_as_not_set() {
    let directory = tempdir().unwrap();
    for command in ["serve", "check", "test", "run", "explain", "scheduler-config"] {
        let help = run(&[command, "--help"]).out;
        let names: Vec<&str> = help.split("[env: ").skip(1).filter_map(|rest| rest.split(['=', ']']).next()).collect();
        assert!(!names.is_empty(), "{command}");
        let empty: Vec<(&str, &str)> = names.into_iter().map(|name| (name, "")).collect();
        let bare = plimsoll(directory.path(), &[command]).unwrap();
        let printed = plimsoll_with(directory.path(), &empty, &[command]).unwrap();
        // The usage below lists what was given by variables.
        let complaint = |err: &str| err.split("\nUsage:").next().unwrap_or_default().to_owned();
        assert_eq!((printed.code, complaint(&printed.err)), (bare.code, complaint(&bare.err)), "{command}");
    }
}

#[test]
fn a_variable_of_a_flag_without_a_value_is_yes_or_no_in_any_of_the_usual_words() {
    let directory = tempdir().unwrap();
    let pod = directory.path().join("pod.json");
    fs::write(&pod, POD).unwrap();
    let args = ["run", "--no-compile-cache", "--policies", text(policies()), "--pod", text(&pod)];
    for (value, code) in [("1", 0), ("true", 0), ("yes", 0), ("0", 2), ("false", 2), ("no", 2)] {
        let printed = plimsoll_with(directory.path(), &[("PLIMSOLL_SAMPLE", value)], &args).unwrap();
        assert_eq!(printed.code, Some(code), "{value}: {printed:?}");
    }
}

#[test]
fn a_command_that_cannot_be_done_says_why_and_exits_with_2() {
    let table: &[(&[&str], &str)] = &[
        (&["serve", "--policies", "absent"], "absent"),
        (&["serve"], "--policies"),
        (&["serve", "--policies", ".", "--request-timeout", "soon"], "expected a time such as 250ms or 4s"),
        (&["run", "--policies", "absent", "--pod", "absent.json"], "absent"),
        (&["nonsense"], "unrecognized subcommand"),
    ];
    let directory = tempdir().unwrap();
    for (args, expected) in table {
        let printed = plimsoll(directory.path(), args).unwrap();
        assert_eq!(printed.code, Some(2), "{args:?} {printed:?}");
        assert!(printed.err.contains(expected), "{args:?} {}", printed.err);
        assert!(!printed.err.contains("panicked"), "{}", printed.err);
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let printed = run(&["completions", shell]);
        assert_eq!(printed.code, Some(0));
        assert!(printed.out.contains("scheduler-config"), "{shell}");
    }
}

#[test]
fn the_version_tells_of_the_build_the_contract_and_the_engine() {
    let text = run(&["version"]).out;
    for line in ["plimsoll  0.1.0\n", "commit    ", "contract  plimsoll:policy@0.1.0\n", "engine    wasmtime "] {
        assert!(text.contains(line), "{text}");
    }
    let printed = run(&["version", "--output", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 5, "{keys:?}");
    for key in ["version", "commit", "contract", "engine", "platform"] {
        assert!(json[key].as_str().is_some_and(|value| text.contains(value)), "{key}: {printed}");
    }
    assert_eq!(run(&["--version"]).out, "plimsoll 0.1.0\n");
}
