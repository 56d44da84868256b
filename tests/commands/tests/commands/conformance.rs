//! `plimsoll conformance`.

use std::fs;

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_conformance::page::PAGE;
use plimsoll_harness::{tempdir, workspace};
use serde_json::Value;

use crate::{hostile, text};

/// The policy `conformance` in Rust, as `make policies` builds it.
fn module() -> Vec<u8> {
    let file = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/conformance.wasm");
    fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Runs the suite on a module.
fn conformance(module: &[u8], args: &[&str]) -> Printed {
    let directory = tempdir().unwrap();
    let file = directory.path().join("policy.wasm");
    fs::write(&file, module).unwrap();
    let args = [&["conformance", "--no-compile-cache", text(&file)][..], args].concat();
    plimsoll(directory.path(), &args).unwrap()
}

/// The module with another text of the same length in place of the only one that it has.
fn with(text: &str, other: &str) -> Vec<u8> {
    let mut module = module();
    let found: Vec<usize> = (0..module.len()).filter(|at| module[*at..].starts_with(text.as_bytes())).collect();
    assert_eq!((found.len(), text.len()), (1, other.len()), "{text}");
    module[found[0]..found[0] + text.len()].copy_from_slice(other.as_bytes());
    module
}

/// The names of the cases that failed.
fn failed(printed: &Printed) -> Vec<String> {
    let json: Value = serde_json::from_str(&printed.out).unwrap_or_else(|error| panic!("{error}: {printed:?}"));
    let cases = json["cases"].as_array().unwrap();
    let failed = cases.iter().filter(|case| case["passed"] == false);
    failed.map(|case| case["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_module_that_conforms_passes_every_case() {
    let printed = conformance(&module(), &[]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let lines: Vec<&str> = printed.out.lines().collect();
    let (last, cases) = lines.split_last().unwrap();
    assert!(cases.iter().all(|line| line.starts_with("ok ")), "{}", printed.out);
    assert!(last.ends_with(&format!("{} cases: {0} passed, 0 failed", cases.len())), "{last}");
}

#[test]
fn a_module_that_is_wrong_in_one_answer_fails_exactly_that_case() {
    let table = [
        ("another pool", "another cool", "pool"),
        ("eviction does not help", "eviction does yet help", "verdicts"),
        ("topic: é is refused", "topic: e' is refused", "settings-refused"),
    ];
    for (text, other, case) in table {
        let printed = conformance(&with(text, other), &["--output", "json"]);
        assert_eq!((printed.code, failed(&printed)), (Some(1), vec![case.to_owned()]), "{text}");
    }
}

#[test]
fn a_difference_is_shown_with_the_expected_and_the_given_line() {
    let printed = conformance(&with("another pool", "another cool"), &["--filter", "pool"]);
    let lines: Vec<&str> = printed.out.lines().collect();
    let shown = [
        "FAILED   pool  filter of node-4",
        "           expected  unschedulable: another pool",
        "           answered  unschedulable: another cool",
    ];
    assert_eq!(lines[..3], shown, "{printed:?}");
    assert!(lines[3].ends_with("1 case: 0 passed, 1 failed"), "{printed:?}");
}

#[test]
fn a_module_without_a_verb_fails_the_cases_of_that_verb_and_says_so() {
    let zone = plimsoll_guests::zone();
    let printed = conformance(&zone, &["--filter", "rank"]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("answered  nothing: the module has no verb rank, only "), "{}", printed.out);
}

#[test]
fn a_module_that_hangs_or_is_none_ends_the_command() {
    let endless = hostile("endless_loop");
    let printed = conformance(endless, &["--filter", "filter"]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert_eq!(printed.out.matches("answered  fault timeout: ").count(), 3, "{}", printed.out);
    assert!(printed.out.contains("NOT RUN  ") && printed.out.contains("the module ran out of time in 3 cases before"));
    let printed = conformance(b"no module", &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("REFUSED, this is not WebAssembly"), "{}", printed.out);
}

#[test]
fn the_specification_needs_no_module() {
    let directory = tempdir().unwrap();
    let printed = plimsoll(directory.path(), &["conformance", "--print-spec"]).unwrap();
    assert_eq!((printed.code, printed.out.as_str()), (Some(0), PAGE));
    let printed = plimsoll(directory.path(), &["conformance"]).unwrap();
    assert_eq!(printed.code, Some(2), "{printed:?}");
    let printed = plimsoll(directory.path(), &["conformance", "a.wasm", "--filter", "nonsense"]).unwrap();
    assert_eq!(printed.code, Some(2));
    assert!(printed.err.contains("no case matches --filter 'nonsense'"), "{}", printed.err);
}
