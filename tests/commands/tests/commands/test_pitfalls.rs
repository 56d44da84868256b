//! `plimsoll test`: cases that would mean nothing, and cases that would take all the time or memory there is.

use std::{fmt::Write as _, fs, path::Path};

use plimsoll_commands::{Printed, plimsoll};
use plimsoll_harness::tempdir;
use serde_json::Value;

use crate::hostile;

/// Tests one module with one case.
fn test(module: &[u8], case: &str, args: &[&str]) -> Printed {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("policy.wasm"), module).unwrap();
    write_case(directory.path(), "a.yaml", case);
    test_in(directory.path(), args)
}

fn test_in(directory: &Path, args: &[&str]) -> Printed {
    plimsoll(directory, &[&["test", "--no-compile-cache"][..], args].concat()).unwrap()
}

fn write_case(directory: &Path, name: &str, case: &str) {
    fs::create_dir_all(directory.join("cases")).unwrap();
    fs::write(directory.join("cases").join(name), case).unwrap();
}

/// A module that gives each pod the label `app: b`.
fn labelling() -> Vec<u8> {
    let text = r#"(module
      (memory (export "memory") 1)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
      (data (i32.const 64) "\00\00\00\00\00\00\00\00\00\00\00\00\80\00\00\00\01\00\00\00")
      (data (i32.const 128) "\a0\00\00\00\03\00\00\00\a3\00\00\00\01\00\00\00")
      (data (i32.const 160) "appb")
      (func (export "plimsoll:policy/binding@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))"#;
    plimsoll_guests::compile("labelling", text)
}

fn nodes(count: usize) -> String {
    (0..count).fold(String::from("nodes:\n"), |mut text, at| {
        writeln!(text, "- {{metadata: {{name: n{at}, labels: {{zone: b}}}}}}").unwrap();
        text
    })
}

#[test]
fn only_the_differences_that_are_printed_are_explained() {
    let case = format!("description: d\n{}expect: {{filter: {{}}}}\n", nodes(4_000));
    let printed = test(&plimsoll_guests::zone(), &case, &["--explain", "-o", "json"]);
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let case = &report["policies"][0]["cases"][0];
    let reads: Vec<usize> =
        case["differences"].as_array().unwrap().iter().map(|one| one["reads"].as_array().unwrap().len()).collect();
    assert_eq!(reads.len(), 4_000);
    assert!(reads[..20].iter().all(|reads| *reads > 0), "{reads:?}");
    assert!(reads[20..].iter().all(|reads| *reads == 0), "{reads:?}");
}

#[test]
fn a_bind_that_serve_refuses_does_not_pass() {
    let case = |labels: &str| {
        format!(
            "description: d\npod: {{metadata: {{name: p, namespace: web, labels: {labels}}}}}\n{}\
             expect: {{bind: {{n0: {{labels: {{app: b}}}}}}}}\n",
            nodes(1)
        )
    };
    for labels in ["{}", "{app: b}"] {
        assert_eq!(test(&labelling(), &case(labels), &["--strict"]).code, Some(0), "{labels}");
    }
    let printed = test(&labelling(), &case("{app: a}"), &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let refused =
        "{refused: \"policy test gives the pod web/p the label app, which it has already with another value\"}";
    assert!(printed.out.contains(&format!("      answered  {refused}\n")), "{printed:?}");
}

#[test]
fn an_answer_that_breaks_the_contract_fails_its_case_as_it_would_fail_in_serve() {
    let mirror = "{annotations: {kubernetes.io/config.mirror: \"\"}}";
    let case = format!("description: d\n{}expect: {{bind: {{n0: {mirror}}}}}\n", nodes(1));
    let printed = test(hostile("bind_reserved_key"), &case, &[]);
    assert_eq!(printed.code, Some(1), "{printed:?}");
    let fault = "bind failed: output: the annotation key 'kubernetes.io/config.mirror': ";
    assert!(printed.out.contains(fault), "{printed:?}");
}

#[test]
fn a_case_that_asks_about_no_node_is_a_mistake() {
    let request = format!("{}request: []", nodes(1));
    for (world, key) in [("nodes: []", "nodes"), (&request, "request")] {
        let case = format!("description: d\n{world}\nexpect: {{filter: {{}}}}\n");
        let printed = test(&plimsoll_guests::zone(), &case, &[]);
        assert_eq!(printed.code, Some(1), "{printed:?}");
        let error =
            format!("cases/a.yaml: expect.filter: it asks about no node: expected at least one under `{key}`\n");
        assert!(printed.out.contains(&error), "{printed:?}");
    }
}
