//! Facts from outside in the commands: `--facts-snapshot`, files that sidecars name, and cases.

use std::{fs, path::Path};

use plimsoll_commands::plimsoll;
use plimsoll_harness::{policies, tempdir};
use serde_json::{Value, json};

use crate::{POD, run, text};

const NODES: &str = r#"
{"kind": "Node", "metadata": {"name": "n1"}, "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}
{"kind": "Node", "metadata": {"name": "n2"}}
"#;

/// A directory with the policy `busy`, whose calendar is a file.
fn write_policies(of: &Path) {
    let module = plimsoll_guests::compile("facts", include_str!("../../../guests/guests/good/facts.wat"));
    fs::create_dir(of).unwrap();
    fs::write(of.join("busy.wasm"), module).unwrap();
    fs::write(of.join("busy.yaml"), "facts: [load, calendar.csv]\n").unwrap();
    fs::write(of.join("calendar.csv"), "# holidays\nyesterday,closed\n").unwrap();
}

#[test]
fn explain_shows_facts_from_a_file_and_from_the_policys_own_files() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    write_policies(&at("policies"));
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
    let reads = json!([{"read": "facts.text(\"calendar\", \"today\")", "value": null, "others": false}]);
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
    write_policies(&at("policies"));
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("nodes.json"), NODES).unwrap();
    fs::write(at("facts.yaml"), "load: {10.0.0.1: 0.25}\n").unwrap();
    for (absent, effect) in [("fail", "(absent: fail)"), ("ignore", "(absent: ignore: it is left out)")] {
        let sidecar = format!("facts: [load, calendar.csv]\nabsent: {absent}\n");
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
    write_policies(&at("policies"));
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
    assert!(bad.out.contains("'calendar', which is not named under `facts` of its sidecar or test case"), "{bad:?}");
}

/// The files of a question about two nodes, beside the policy.
fn lay_out(at: &dyn Fn(&str) -> std::path::PathBuf) {
    write_policies(&at("policies"));
    fs::write(at("pod.json"), POD).unwrap();
    fs::write(at("nodes.json"), NODES).unwrap();
}

#[test]
fn sources_without_facts_are_named_in_one_line_with_the_flag_that_brings_them() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    lay_out(&at);
    fs::write(at("facts.yaml"), "prices: {n1: 1}\n").unwrap();
    let files = ["policies", "pod.json", "nodes.json", "facts.yaml"].map(at);
    let [policies, pod, nodes, facts] = files.each_ref().map(|file| text(file));
    let common = ["--no-compile-cache", "--policies", policies, "--pod", pod, "--snapshot", nodes];
    for command in [&["run"][..], &["explain", "--node", "n1"]] {
        let printed = run(&[command, &common].concat());
        let expected = "plimsoll: policy busy: there are no facts of 'load': name them with --facts-snapshot FILE\n";
        assert_eq!(printed.err, expected, "{command:?} {printed:?}");
        let printed = run(&[command, &common, &["--facts-snapshot", facts]].concat());
        let expected =
            format!("policy busy: there are no facts of 'load': expected them in {facts} (--facts-snapshot)");
        assert!(printed.err.contains(&expected), "{command:?} {printed:?}");
    }
    fs::write(at("facts.yaml"), "load: {}\n").unwrap();
    let printed = run(&[&["run"][..], &common, &["--facts-snapshot", facts]].concat());
    assert_eq!(printed.err, "", "an empty source is there");
}

#[test]
fn a_recorded_case_has_the_facts_that_the_policy_read() {
    let directory = tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    lay_out(&at);
    fs::write(at("policies/calendar.csv"), "yesterday,closed\ntoday,\"closed, all day\"\n").unwrap();
    let others: Vec<String> = (0..1000).map(|node| format!("other-{node}: 0.5")).collect();
    let facts = format!("load: {{10.0.0.1: 0.25, {}}}\nprices: {{n1: 1}}\n", others.join(", "));
    fs::write(at("facts.yaml"), facts).unwrap();
    let files = ["policies/busy.wasm", "pod.json", "nodes.json", "facts.yaml", "case.yaml"].map(at);
    let [module, pod, nodes, facts, case] = files.each_ref().map(|file| text(file));
    let from = ["--record", case, "--pod", pod, "--snapshot", nodes];
    let printed = run(&[&["test", "--no-compile-cache", module, "--facts-snapshot", facts][..], &from].concat());
    assert_eq!((printed.code, &*printed.err), (Some(0), ""), "{printed:?}");
    let yaml = fs::read_to_string(at("case.yaml")).unwrap();
    let expected = "facts: {calendar: {today: closed, all day}, load: {10.0.0.1: 0.25}}\n";
    assert!(yaml.replace(['\'', '"'], "").contains(expected), "{yaml}");
    assert!(yaml.contains("\n    n1: 25\n    n2: 50\n"), "{yaml}");
    assert!(yaml.starts_with("# Cut from pod.json and nodes.json and facts.yaml:"), "{yaml}");
    let printed = run(&["test", "--no-compile-cache", module, "--cases", case]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    // Without the snapshot the source is there and empty, and the command says so.
    let printed = run(&["test", "--no-compile-cache", module, "--record", "-", "--pod", pod, "--snapshot", nodes]);
    assert!(
        printed.err.contains("policy busy: there are no facts of 'load': name them with --facts-snapshot FILE"),
        "{printed:?}"
    );
    assert!(printed.out.contains("load: {}") && printed.out.contains("n1: 50"), "{printed:?}");
}

#[test]
fn a_load_aware_that_counts_is_refused_before_there_are_measurements() {
    let directory = tempdir().unwrap();
    let module = policies().join("load-aware.wasm");
    fs::copy(module, directory.path().join("load-aware.wasm")).unwrap();
    let check = |settings: &str| {
        let sidecar = format!("facts: [load, requested]\nabsent: default\ncounts: false\nsettings: {settings}\n");
        fs::write(directory.path().join("load-aware.yaml"), sidecar).unwrap();
        plimsoll(directory.path(), &["check", "--no-compile-cache", "load-aware.wasm"]).unwrap()
    };
    assert_eq!(check("{}").code, Some(0));
    let printed = check("{requested: requested}");
    assert!(printed.code == Some(1) && printed.out.contains("its sidecar says `counts: false`"), "{printed:?}");
}
