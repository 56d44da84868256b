//! Facts from outside in the commands: `--facts-snapshot`, files that sidecars name, and cases.

use std::{fs, path::Path};

use plimsoll_harness::tempdir;
use serde_json::{Value, json};

use crate::{POD, run, text};

const NODES: &str = r#"
{"kind": "Node", "metadata": {"name": "n1"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
{"kind": "Node", "metadata": {"name": "n2"}}
"#;

/// A directory with the policy `busy`, whose calendar is a file.
fn policies(of: &Path) {
    let module = plimsoll_guests::compile("facts", include_str!("../../../guests/guests/good/facts.wat"));
    fs::create_dir(of).unwrap();
    fs::write(of.join("busy.wasm"), module).unwrap();
    fs::write(of.join("busy.yaml"), "facts: {load: , calendar: {file: calendar.csv}}\n").unwrap();
    fs::write(of.join("calendar.csv"), "# holidays\nyesterday,closed\n").unwrap();
}

#[test]
fn explain_shows_facts_from_a_file_and_from_the_policys_own_files() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    policies(&at("policies"));
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("nodes.json"), NODES).unwrap();
    fs::write(at("facts.yaml"), "load: {10.0.0.1: 0.25}\n").unwrap();
    let explain = |node: &str| {
        let (policies, pod, nodes, facts) = (at("policies"), at("pod.json"), at("nodes.json"), at("facts.yaml"));
        let of = ["--policies", text(&policies), "--pod", text(&pod), "--node", node, "--snapshot", text(&nodes)];
        let how = ["explain", "--no-compile-cache", "--output", "json", "--facts-snapshot", text(&facts)];
        let printed = run(&[&how[..], &of].concat());
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let report: Value = serde_json::from_str(&printed.out).unwrap();
        let answers = report["answers"].as_array().unwrap().iter();
        answers.map(|answer| (answer["verb"].clone(), answer["answer"].clone(), answer["reads"].clone())).collect()
    };
    let answers: Vec<(Value, Value, Value)> = explain("n1");
    let reads = json!([{"read": "facts.text(\"file:calendar.csv\", \"today\")", "value": null, "others": false}]);
    assert_eq!(answers[0], (json!("filter"), json!({"verdict": "fits"}), reads));
    assert_eq!(answers[1].1, json!({"score": 25}));
    assert_eq!(answers[1].2, json!([{"read": "facts.node-number(\"load\")", "value": 0.25, "others": false}]));
    fs::write(at("policies").join("calendar.csv"), "today,\"closed, all day\"\n").unwrap();
    let answers: Vec<(Value, Value, Value)> = explain("n2");
    assert_eq!(answers[0].1["reason"], "closed, all day");
    assert_eq!(answers[1].1, json!({"score": 50}), "there is no load of it");
}

#[test]
fn a_fault_for_an_absent_fact_names_the_setting_that_decides_its_effect() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    policies(&at("policies"));
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("nodes.json"), NODES).unwrap();
    fs::write(at("facts.yaml"), "load: {10.0.0.1: 0.25}\n").unwrap();
    for (absent, effect) in [("fail", "(absent: fail)"), ("ignore", "(absent: ignore: it is left out)")] {
        let sidecar = format!("facts: {{load: , calendar: {{file: calendar.csv}}}}\nabsent: {absent}\n");
        fs::write(at("policies/busy.yaml"), sidecar).unwrap();
        let files = [at("policies"), at("pod.json"), at("nodes.json"), at("facts.yaml")];
        let [policies, pod, nodes, facts] = files.each_ref().map(|file| text(file));
        let of = ["--policies", policies, "--pod", pod, "--snapshot", nodes, "--facts-snapshot", facts];
        let printed = run(&[&["run", "--no-compile-cache"][..], &of].concat());
        assert!(printed.out.contains(effect), "{printed:?}");
        assert!(!printed.out.contains("onError"), "{printed:?}");
    }
}

#[test]
fn a_case_has_facts_and_a_source_that_it_does_not_name_cannot_be_read() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    policies(&at("policies"));
    fs::create_dir_all(at("cases/busy")).unwrap();
    let case = |facts: &str| {
        let nodes = "nodes: [{metadata: {name: n1}}, {metadata: {name: n2}}]";
        let expect = "expect:\n  score: {n1: 75, n2: 50}\n  filter: {n1: fits, n2: fits}\n";
        fs::write(at("cases/busy/a.yaml"), format!("description: d\n{nodes}\n{facts}\n{expect}")).unwrap();
        run(&["test", "--no-compile-cache", text(&at("policies")), "--cases", text(&at("cases"))])
    };
    let good = case("facts: {load: {n1: 0.75}, calendar: {}}");
    assert_eq!(good.code, Some(0), "{good:?}");
    let bad = case("facts: {load: {n1: 0.75}}");
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.out.contains("the policy reads the source of facts 'calendar'"), "{bad:?}");
}
