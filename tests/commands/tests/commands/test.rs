//! `plimsoll test`.

use std::{fs, path::Path};

use plimsoll_commands::{Printed, matches_golden, plimsoll};
use plimsoll_harness::{policies, tempdir, workspace};
use serde_json::Value;

use crate::hostile;

/// The module of `tests/guests` that is written by hand, has no `validate`, and only likes the zone `a`.
fn zone() -> Vec<u8> {
    plimsoll_guests::zone()
}

pub(super) const CASE: &str = "description: only the zone a will do
nodes:
- metadata: {name: n1, labels: {zone: a}}
- metadata: {name: n2, labels: {zone: b}}
expect:
  filter:
    n1: fits
    n2: {unschedulable: not in zone a}
";

pub(super) fn test(directory: &Path, args: &[&str]) -> Printed {
    plimsoll(directory, &[&["test", "--no-compile-cache"][..], args].concat()).unwrap()
}

/// Writes files below a directory; `wasm` stands for the module that likes the zone `a`.
pub(super) fn lay_out(directory: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if *text == "wasm" { fs::write(path, zone()).unwrap() } else { fs::write(path, text).unwrap() }
    }
}

#[test]
fn every_case_of_every_sample_policy_holds_for_its_module() {
    policies();
    let plugins = workspace().join("plugins").read_dir().unwrap().map(Result::unwrap);
    // tests/policies builds the others, and puts their cases to them.
    for plugin in plugins.filter(|entry| entry.path().join("Cargo.toml").is_file()) {
        let name = plugin.file_name().into_string().unwrap();
        let directory = tempdir().unwrap();
        let module = format!("{name}.wasm");
        fs::copy(workspace().join("target/policies").join(&module), directory.path().join(&module)).unwrap();
        let sidecars = copy(&plugin.path(), directory.path(), "yaml");
        let cases = format!("{}/cases", plugin.path().display());
        let printed = test(directory.path(), &["--strict", "--cases", &cases, "."]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let passed = printed.out.lines().filter(|line| line.ends_with(" passed")).count();
        assert_eq!(passed, sidecars.max(1), "{name}: a policy has no case: {printed:?}");
    }
}

/// Copies the files with this ending, and returns their number.
fn copy(from: &Path, to: &Path, ending: &str) -> usize {
    let files = from.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    for file in &files {
        fs::copy(file, to.join(file.file_name().unwrap())).unwrap();
    }
    files.len()
}

#[test]
fn a_failing_case_is_shown_with_its_line_and_both_answers_as_yaml() {
    let directory = tempdir().unwrap();
    let wrong = CASE
        .replace("n1: fits", "n1: {unresolvable: \"no, never: 1\"}")
        .replace("    n2: {unschedulable: not in zone a}\n", "");
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/wrong.yaml", &wrong), ("cases/right.yaml", CASE)]);
    let printed = test(directory.path(), &["--explain"]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    matches_golden("test-failed.txt", &printed.out).unwrap();
}

#[test]
fn a_malformed_case_is_told_with_file_line_and_field_and_the_others_are_run() {
    let directory = tempdir().unwrap();
    let unknown = CASE.replace("expect:", "expected:");
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/a.yml", &unknown), ("cases/b.yaml", CASE)]);
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("cases/a.yml:5: unknown key 'expected': expected one of"), "{printed:?}");
    assert!(printed.out.ends_with("1 policy, 2 cases: 1 passed, 1 failed\n"), "{printed:?}");
}

#[test]
fn a_case_that_can_only_pass_or_only_fail_is_a_mistake() {
    let directory = tempdir().unwrap();
    let (head, _) = CASE.split_once("expect:").unwrap();
    let (nothing, other) = (format!("{head}expect: {{}}\n"), format!("{head}expect: {{score: {{}}}}\n"));
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/a.yaml", &nothing), ("cases/b.yaml", &other)]);
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("cases/a.yaml: it has nodes, and expects nothing of them"), "{printed:?}");
    assert!(printed.out.contains("cases/b.yaml: expect.score: the policy has no verb score, only "), "{printed:?}");
}

#[test]
fn a_case_without_settings_has_those_of_the_sidecar() {
    let directory = tempdir().unwrap();
    let case = "description: d\npod: {metadata: {name: p, namespace: n}}\nnodes: [{metadata: {name: a, labels: {pool: x}}}]\nexpect: {filter: {a: fits}}\n";
    lay_out(
        directory.path(),
        &[("cases/a.yaml", case), ("tenant-pool.yaml", "settings: {label: pool, pools: {n: x}}\n")],
    );
    fs::copy(policies().join("tenant-pool.wasm"), directory.path().join("tenant-pool.wasm")).unwrap();
    assert_eq!(test(directory.path(), &[]).code, Some(0));
    fs::write(directory.path().join("tenant-pool.yaml"), "settings: {label: pool, pools: {n: y}}\n").unwrap();
    assert_eq!(test(directory.path(), &[]).code, Some(1));
    let own = format!("settings: {{label: pool, pools: {{n: x}}}}\n{case}");
    fs::write(directory.path().join("cases/a.yaml"), own).unwrap();
    assert_eq!(test(directory.path(), &[]).code, Some(0));
    // Its settings are refused, as `serve` would.
    fs::write(directory.path().join("tenant-pool.yaml"), "settings: {lable: pool}\n").unwrap();
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.starts_with("tenant-pool.wasm: REFUSED, tenant-pool.yaml"), "{printed:?}");
}

#[test]
fn every_verb_can_be_tested_and_what_lies_outside_the_request() {
    let directory = tempdir().unwrap();
    let module = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/licence_seats.wasm");
    policies();
    fs::copy(module, directory.path().join("seats.wasm")).unwrap();
    // The one seat is taken on node b, which is not asked about.
    let head = "description: d\nsettings: {label: licence, pool: pool, seats: {cad: 1}}\n\
                pod: {metadata: {name: p, labels: {licence: cad}}}\n\
                nodes: [{metadata: {name: a, labels: {pool: x}}}, {metadata: {name: b, labels: {pool: x}}}]\nrequest: [a]\n";
    let taken = "all seats of the licence are taken in the node's pool";
    let pods = "pods: [{metadata: {name: q, labels: {licence: cad}}, spec: {nodeName: b}}]\n";
    let (none, unknown) = ("", "the gateway has no view of the cluster");
    let cases = [
        (
            "taken",
            format!("{pods}expect: {{filter: {{a: {{unschedulable: {taken}}}}}, bind: {{a: {{refused: {taken}}}}}}}\n"),
        ),
        ("free", format!("{none}expect: {{filter: {{a: fits}}, bind: {{a: {{annotations: {{}}}}}}}}\n")),
        ("unknown", format!("pods: unknown\nexpect: {{filter: {{a: {{unresolvable: {unknown}}}}}}}\n")),
    ];
    for (name, rest) in &cases {
        lay_out(directory.path(), &[(&format!("cases/{name}.yaml"), &format!("{head}{rest}"))]);
    }
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
}

#[test]
fn a_hostile_module_ends_with_its_own_time_and_memory() {
    let directory = tempdir().unwrap();
    for (guest, fault) in [("endless_loop", "timeout"), ("trap_in_verb", "trap"), ("host_panic", "panic")] {
        fs::write(directory.path().join("zone.wasm"), hostile(guest)).unwrap();
        for number in 0..8 {
            lay_out(directory.path(), &[(&format!("cases/{number}.yaml"), CASE)]);
        }
        let printed = test(directory.path(), &[]);
        assert_eq!(printed.code, Some(1), "{guest} {printed:?}");
        assert!(printed.out.contains(&format!("cases/0.yaml: filter failed: {fault}: ")), "{guest} {printed:?}");
        let not_run = printed.out.contains("cases/7.yaml: not run: the policy ran out of time in 5 cases before");
        assert_eq!(not_run, fault == "timeout", "{guest} {printed:?}");
    }
}

#[test]
fn a_hostile_case_neither_hangs_nor_kills_the_command() {
    let directory = tempdir().unwrap();
    let head = "description: d\nexpect: {}\nsettings: ";
    let alias = |at: usize| format!("  k{at}: &k{at} [{}]", vec![format!("*k{}", at - 1); 10].join(", "));
    let aliases = (1..9).map(alias).collect::<Vec<_>>().join("\n");
    let cases = [
        ("deep", format!("{head}{}{}", "[".repeat(100_000), "]".repeat(100_000))),
        ("laughs", format!("{head}\n  k0: &k0 [x, x, x, x, x, x, x, x]\n{aliases}")),
        ("wide", format!("{head}[{}]", "1,".repeat(1_000_000))),
        ("large", "#".repeat(5 << 20)),
        ("binary", "\u{0}\u{1b}[2J".to_owned()),
    ];
    for (name, text) in &cases {
        lay_out(directory.path(), &[(&format!("cases/{name}.yaml"), text)]);
    }
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/good.yaml", CASE)]);
    let printed = test(directory.path(), &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.ends_with("1 policy, 6 cases: 1 passed, 5 failed\n"), "{printed:?}");
    assert!(!printed.out.contains('\u{1b}') && printed.out.len() < 10_000, "{printed:?}");
}

#[test]
fn a_filter_leaves_the_cases_that_contain_its_text() {
    let directory = tempdir().unwrap();
    let other = CASE.replace("only the zone a will do", "something else").replace("n1: fits", "n1: no");
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/a.yaml", CASE), ("cases/b.yaml", &other)]);
    for filter in ["a.yaml", "zone a will"] {
        let printed = test(directory.path(), &["--filter", filter, "--strict"]);
        assert_eq!(printed.out, "zone.wasm: 1 case passed\n1 policy, 1 case: 1 passed, 0 failed\n", "{printed:?}");
    }
}

#[test]
fn the_report_for_programs_has_each_case() {
    let directory = tempdir().unwrap();
    let wrong = CASE.replace("n1: fits", "n1: {unschedulable: \"<&>\"}");
    lay_out(directory.path(), &[("zone.wasm", "wasm"), ("cases/a.yaml", CASE), ("cases/b.yaml", &wrong)]);
    lay_out(directory.path(), &[("cases/c.yaml", "a: 1")]);
    let report: Value = serde_json::from_str(&test(directory.path(), &["-o", "json"]).out).unwrap();
    let cases = report["policies"][0]["cases"].as_array().unwrap();
    assert_eq!(cases.iter().map(|case| case["passed"] == true).collect::<Vec<_>>(), [true, false, false]);
    let difference = &cases[1]["differences"][0];
    let fields = ["verb", "node", "expected", "answered"].map(|key| difference[key].as_str().unwrap());
    assert_eq!((fields, &difference["line"]), (["filter", "n1", "{unschedulable: \"<&>\"}", "fits"], &7.into()));
    assert!(cases[2]["error"].as_str().unwrap().contains("unknown key"), "{report}");
}
