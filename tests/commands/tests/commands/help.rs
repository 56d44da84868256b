//! Features that all commands have in common: help, variables, errors, completions.

use plimsoll_commands::{matches_golden, plimsoll};
use plimsoll_harness::tempdir;

use crate::run;

#[test]
fn help_is_what_the_golden_files_say() {
    // The first is the empty one.
    let commands = " serve new check test conformance run explain pending scheduler-config version completions";
    for command in commands.split(' ') {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        let printed = run(&args);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let name = if command.is_empty() { "help.txt".to_owned() } else { format!("help-{command}.txt") };
        matches_golden(&name, &printed.out).unwrap();
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

#[test]
fn every_flag_of_serve_is_an_environment_variable() {
    let help = run(&["serve", "--help"]).out;
    let flags = help.split("\n      --").skip(1).filter(|flag| !flag.starts_with("help"));
    for flag in flags {
        assert!(flag.contains("[env: PLIMSOLL_"), "--{flag}");
    }
}
