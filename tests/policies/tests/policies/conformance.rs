//! The conformance suite, run against the policy `conformance` in every language.

use std::{collections::BTreeSet, fs, sync::Arc};

use plimsoll_conformance::{Outcome, cases};
use plimsoll_core::{Policy, Verb};
use plimsoll_harness::workspace;

use super::languages::{ASSEMBLYSCRIPT, C, Compiled, GO, PYTHON, RUST, TYPESCRIPT, native};

fn passes_every_case(policy: &dyn Policy) {
    let failed = cases().iter().filter_map(|case| match case.put_to(policy) {
        Outcome::Passed => None,
        Outcome::Failed(mismatch) => {
            Some(format!("{}: expected {}\n  answered {}", case.name, mismatch.expected, mismatch.answered))
        }
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), cases().len(), failed.join("\n"));
}

fn compiled_passes_every_case(language: &Compiled) {
    let Some(policy) = language.policy() else { return };
    assert_eq!(policy.verbs().iter().collect::<Vec<_>>(), Verb::ALL);
    passes_every_case(&*policy);
}

#[test]
fn rust_passes_every_case() {
    compiled_passes_every_case(&RUST);
}

#[test]
fn go_passes_every_case() {
    compiled_passes_every_case(&GO);
}

#[test]
fn c_passes_every_case() {
    compiled_passes_every_case(&C);
}

#[test]
fn python_passes_every_case() {
    compiled_passes_every_case(&PYTHON);
}

#[test]
fn typescript_passes_every_case() {
    compiled_passes_every_case(&TYPESCRIPT);
}

#[test]
fn assemblyscript_passes_every_case() {
    compiled_passes_every_case(&ASSEMBLYSCRIPT);
}

/// A function that is added to the contract needs a line in a topic.
#[test]
fn the_policy_calls_every_function_of_the_contract() {
    let policy = RUST.policy().unwrap();
    let reads = policy.reads();
    let called: BTreeSet<&str> = reads.iter().collect();
    let wit = fs::read_to_string(workspace().join("plugin-sdk/wit/v0.1.0/policy.wit")).unwrap();
    let (mut interface, mut functions) = ("", BTreeSet::new());
    for line in wit.lines() {
        if let Some(name) = line.strip_prefix("interface ") {
            interface = name.split(' ').next().unwrap();
        } else if let Some((function, _)) = line.split_once(": func(") {
            functions.insert(format!("{interface}.{}", function.trim()));
        }
    }
    assert!(functions.len() > 50, "{functions:?}");
    assert_eq!(functions.iter().map(String::as_str).collect::<BTreeSet<_>>(), called);
}

/// A native policy has no limits, and cannot be stopped: only answers are compared.
#[test]
fn the_native_policy_in_rust_gives_every_answer() {
    let policy: Arc<dyn Policy> = native();
    let answers = cases().iter().filter(|case| case.faults.is_empty() && !case.name.starts_with("log"));
    let mut asked = 0;
    for case in answers {
        assert_eq!(case.put_to(&*policy), Outcome::Passed, "{}", case.name);
        asked += 1;
    }
    assert!(asked > 20, "{asked} cases");
}
